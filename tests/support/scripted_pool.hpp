// A compile pool whose compiles end when the test says so: nothing runs, nothing waits. For unit and integration tests
// of what surrounds the pool. Callbacks come on the loop, as the real pool's do.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/compile_pool.hpp"
#include "daemon/executor.hpp"

namespace cubind::test {

class ScriptedPool final : public CompilePool {
 public:
  explicit ScriptedPool(Executor& executor, std::size_t max_queue = 1000)
      : executor_(executor), max_queue_(max_queue) {}

  // ---- the script; thread-safe

  bool automatic = false;                // every job succeeds at once
  std::optional<ErrorCode> fail_with;    // jobs of an automatic pool fail with this instead
  std::atomic<double> wall_ms = 10;      // what a compile is said to have taken
  std::atomic<std::size_t> workers = 2;  // set by the test's thread; that many jobs count as running, the oldest ones

  std::size_t jobs() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
  }
  std::uint64_t submitted() const {
    const std::lock_guard lock(mutex_);
    return stats_.started;
  }
  std::vector<JobId> ids() const {
    const std::lock_guard lock(mutex_);
    std::vector<JobId> ids;
    for (const auto& [id, job] : jobs_) ids.push_back(id);
    return ids;
  }
  CompileUnit unit(JobId id) const {
    const std::lock_guard lock(mutex_);
    return jobs_.at(id).unit;
  }
  Priority priority(JobId id) const {
    const std::lock_guard lock(mutex_);
    return jobs_.at(id).priority;
  }

  void succeed(JobId id) {
    auto output = output_of(unit(id));
    output.wall_ms = wall_ms;
    end(id, std::move(output));
  }
  void fail(JobId id, ErrorCode code) {
    CompileResult result(Error{code, "scripted"});
    result.failure_log = "the compiler's words";
    end(id, std::move(result));
  }
  void succeed_all() {
    for (const auto id : ids()) succeed(id);
  }

  // The bytes that a unit compiles to here.
  static CompileOutput output_of(const CompileUnit& unit) {
    CompileOutput output;
    output.cubin = to_bytes("cubin of " + unit.key.hex());
    output.wall_ms = 10;
    output.peak_bytes = 100 << 20;
    return output;
  }

  // ---- the pool

  Result<JobId> submit(CompileUnit unit, Priority priority, std::uint32_t, Done done) override {
    JobId id = 0;
    {
      const std::lock_guard lock(mutex_);
      if (draining_) return Error{ErrorCode::unavailable, "the daemon is stopping: ask again"};
      if (jobs_.size() >= max_queue_) return Error{ErrorCode::resource_exhausted, "the compile queue is full"};
      id = ++last_id_;
      ++stats_.started;
      jobs_.emplace(id, Job{std::move(unit), priority, std::move(done)});
    }
    if (automatic && fail_with)
      fail(id, *fail_with);
    else if (automatic)
      succeed(id);
    return id;
  }
  void set_priority(JobId id, Priority priority) override {
    const std::lock_guard lock(mutex_);
    if (const auto found = jobs_.find(id); found != jobs_.end()) found->second.priority = priority;
  }
  void share(JobId, std::uint32_t) override {}
  void cancel(JobId id) override { end(id, Error{ErrorCode::cancelled, "scripted"}); }
  bool is_running(JobId id) const override {
    const std::lock_guard lock(mutex_);
    return running(id);
  }
  void drain() override {
    std::vector<JobId> queued;
    {
      const std::lock_guard lock(mutex_);
      draining_ = true;
      for (const auto& [id, job] : jobs_) {
        if (!running(id)) queued.push_back(id);
      }
    }
    for (const auto id : queued) end(id, Error{ErrorCode::unavailable, "the daemon is stopping: ask again"});
  }
  CompilePoolStats stats() const override {
    const std::lock_guard lock(mutex_);
    auto stats = stats_;
    stats.workers = static_cast<std::uint32_t>(workers);
    return stats;
  }

 private:
  struct Job {
    CompileUnit unit;
    Priority priority;
    Done done;
  };

  bool running(JobId id) const {
    std::size_t before = 0;
    for (const auto& [other, job] : jobs_) before += other < id ? 1 : 0;
    return jobs_.count(id) != 0 && before < workers;
  }

  void end(JobId id, CompileResult result) {
    Done done;
    {
      const std::lock_guard lock(mutex_);
      const auto found = jobs_.find(id);
      if (found == jobs_.end()) return;
      done = std::move(found->second.done);
      jobs_.erase(found);
    }
    executor_.on_loop([done = std::move(done), shared = std::make_shared<CompileResult>(std::move(result))] {
      done(std::move(*shared));
    });
  }

  Executor& executor_;
  const std::size_t max_queue_;
  mutable std::mutex mutex_;
  std::map<JobId, Job> jobs_;
  CompilePoolStats stats_;
  JobId last_id_ = 0;
  bool draining_ = false;
};

}  // namespace cubind::test
