// Where the daemon's work runs. All state of the service belongs to one thread, the loop's; what may block (the disk,
// reading a cubin, hashing) goes to a small pool of threads and comes back to the loop with its result.
#pragma once

#include <functional>

namespace cubind {

class Executor {
 public:
  using Work = std::function<void()>;

  virtual ~Executor() = default;
  virtual void on_disk_thread(Work work) = 0;  // soon, on some thread of the pool
  virtual void on_loop(Work work) = 0;         // later, on the loop's thread, never from inside this call; thread-safe
};

}  // namespace cubind
