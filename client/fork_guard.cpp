#include "client/fork_guard.hpp"

#include <mutex>
#include <utility>

#include <pthread.h>

namespace cubind {

namespace fork_detail {
constinit std::atomic<std::uint32_t> generation{0};
}

struct ForkGuard::Registry {
  static constinit std::mutex mutex;
  static constinit ForkGuard* first;

  static void prepare() { mutex.lock(); }
  static void parent() { mutex.unlock(); }
  static void child() {
    fork_detail::generation.fetch_add(1, std::memory_order_relaxed);
    for (ForkGuard* guard = first; guard != nullptr; guard = guard->next_) guard->in_child_();
    mutex.unlock();
  }
};
constinit std::mutex ForkGuard::Registry::mutex;
constinit ForkGuard* ForkGuard::Registry::first = nullptr;

namespace {
// glibc takes the handlers back when the library is closed.
[[maybe_unused]] const int registered =
    ::pthread_atfork(ForkGuard::Registry::prepare, ForkGuard::Registry::parent, ForkGuard::Registry::child);
}  // namespace

ForkGuard::ForkGuard(std::function<void()> in_child) : in_child_(std::move(in_child)) {
  const std::lock_guard lock(Registry::mutex);
  next_ = Registry::first;
  if (next_ != nullptr) next_->previous_ = this;
  Registry::first = this;
}

ForkGuard::~ForkGuard() {
  const std::lock_guard lock(Registry::mutex);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : Registry::first) = next_;
}

}  // namespace cubind
