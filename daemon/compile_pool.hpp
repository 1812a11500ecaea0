// The bounded pool of compile workers. One zygote process per toolchain (daemon/zygote.hpp) is started in the
// background and forks a child per job; the pool decides what runs when: foreground before prewarm, at most `workers`
// at once over all toolchains, and no more than memory allows. Callbacks come on the pool's executor (the daemon's
// io_context thread).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/compiler.hpp"
#include "codegen/nvrtc/toolchain.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct CompilePoolStats {
  std::uint64_t started = 0, succeeded = 0, failed = 0, timed_out = 0, cancelled = 0;
  std::uint32_t running = 0, queued_foreground = 0, queued_prewarm = 0, workers = 0;
  std::uint32_t most_running = 0;  // high-water mark
};

class CompilePool {
 public:
  using JobId = std::uint64_t;  // 0 is never used
  using Done = std::function<void(CompileResult)>;

  virtual ~CompilePool() = default;

  // Queues the unit for a user; `done` is called exactly once, later (never from inside submit). resource_exhausted if
  // the queue is full and the user has his part of it; a job that has to leave a full queue for another user's ends
  // likewise (daemon/compile_queue.hpp).
  virtual Result<JobId> submit(CompileUnit unit, Priority priority, std::uint32_t owner, Done done) = 0;
  virtual void share(JobId job, std::uint32_t owner) = 0;  // this user waits for it too: it may get an earlier turn
  virtual void set_priority(JobId job, Priority priority) = 0;  // moves a queued job; a running one keeps running
  virtual void cancel(JobId job) = 0;  // queued: done(cancelled); running: the child is killed, then done(cancelled)

  virtual bool is_running(JobId job) const = 0;  // false while it is queued and once it is done; for progress frames

  // Refuses new jobs, answers queued ones `unavailable`, lets running ones finish.
  virtual void drain() = 0;
  virtual CompilePoolStats stats() const = 0;
};

}  // namespace cubind
