// What happens to this library's objects when their process forks. The child has one thread and copies of everybody's
// mutexes, maybe locked for ever; so objects with a lock register what to do in the child, before it runs on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace cubind {

namespace fork_detail {
extern std::atomic<std::uint32_t> generation;
}

// Differs between a process and the one it was forked from. No system call: cheap enough for every launch.
inline std::uint32_t fork_generation() {
  return fork_detail::generation.load(std::memory_order_relaxed);
}

// While it lives, `in_child` is called in every forked child by fork() itself, with no other thread there. Declare it
// as the last member of what it touches. Thread-safe; fork() waits while one is being made or destroyed.
class ForkGuard {
 public:
  explicit ForkGuard(std::function<void()> in_child);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  struct Registry;

 private:
  std::function<void()> in_child_;
  ForkGuard* next_ = nullptr;
  ForkGuard* previous_ = nullptr;
};

}  // namespace cubind
