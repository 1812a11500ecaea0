#include "daemon/disk_call.hpp"

#include <utility>

namespace cubind {

DiskCall::DiskCall(Executor& executor, ReplySink& sink, std::function<Reply()> work)
    : sink_(sink), self_(std::make_shared<DiskCall*>(this)) {
  executor.on_disk_thread([&executor, weak = std::weak_ptr(self_), work = std::move(work)] {
    auto reply = std::make_shared<Reply>(work());
    executor.on_loop([weak, reply] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      (*self)->finished_ = true;
      (*self)->sink_.reply(*reply);
    });
  });
}

}  // namespace cubind
