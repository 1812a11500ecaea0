// A request that is one piece of work on a disk thread and one reply: listing, purging. It is not interrupted: a cancel
// or a lost connection only means that nobody hears the reply.
#pragma once

#include <functional>
#include <memory>

#include "daemon/call.hpp"
#include "daemon/executor.hpp"

namespace cubind {

class DiskCall final : public Call {
 public:
  // `work` runs once, on a disk thread, and must not refer to the call.
  DiskCall(Executor& executor, ReplySink& sink, std::function<Reply()> work);

  void advance(SteadyTime) override {}
  void tick(SteadyTime) override {}
  std::optional<SteadyTime> next_wakeup() const override { return std::nullopt; }
  void cancel(SteadyTime) override {}
  bool finished() const override { return finished_; }

 private:
  ReplySink& sink_;
  bool finished_ = false;
  std::shared_ptr<DiskCall*> self_;  // what late results look through: gone with the call
};

}  // namespace cubind
