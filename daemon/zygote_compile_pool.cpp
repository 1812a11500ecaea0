#include "daemon/zygote_compile_pool.hpp"

#include <algorithm>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "daemon/machine_limits.hpp"

namespace cubind {

ZygoteCompilePool::ZygoteCompilePool(boost::asio::io_context& io, const std::vector<Toolchain>& toolchains,
                                     CompilePoolConfig config)
    : io_(io), config_(std::move(config)), queue_(config_.max_queue) {
  stats_.workers = workers_for(config_.workers, read_machine_limits());
  Zygote::Owner& owner = *this;
  for (const auto& toolchain : toolchains) {
    if (!toolchain.installed) continue;
    const ZygoteConfig zygote{config_.worker_path, toolchain, config_.memory_bytes, config_.cpu_time, config_.timeout};
    zygotes_.emplace(toolchain.id, std::make_unique<Zygote>(io_, zygote, owner));
  }
}

ZygoteCompilePool::~ZygoteCompilePool() {
  *alive_ = false;
}

Result<CompilePool::JobId> ZygoteCompilePool::submit(CompileUnit unit, Priority priority, std::uint32_t owner,
                                                     Done done) {
  if (draining_) return Error{ErrorCode::unavailable, "the daemon is stopping"};
  const auto zygote = zygotes_.find(unit.toolchain);
  if (zygote == zygotes_.end()) {
    return Error{ErrorCode::unavailable, "toolchain \"" + unit.toolchain + "\" is not installed"};
  }
  const auto id = ++last_id_;
  const Error full{ErrorCode::resource_exhausted,
                   "the queue of compiles is full at \"" + std::to_string(config_.max_queue) + "\""};
  const auto pushed = queue_.push(id, priority, owner);
  if (!pushed.queued) return full;
  if (pushed.displaced) finish_later({*pushed.displaced}, full);
  Job job;
  job.unit = std::move(unit);
  job.priority = priority;
  job.owner = owner;
  job.done = std::move(done);
  job.zygote = zygote->second.get();
  jobs_.emplace(id, std::move(job));
  dispatch();
  return id;
}

void ZygoteCompilePool::set_priority(JobId id, Priority priority) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  found->second.priority = priority;
  queue_.set_priority(id, priority);
}

void ZygoteCompilePool::share(JobId id, std::uint32_t owner) {
  queue_.share(id, owner);
}

void ZygoteCompilePool::cancel(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.cancelled) return;
  found->second.cancelled = true;
  if (found->second.running) {
    found->second.zygote->cancel(id);
  } else {
    queue_.remove(id);
    finish_later({id}, {ErrorCode::cancelled, "the compile was cancelled"});
  }
}

bool ZygoteCompilePool::is_running(JobId id) const {
  const auto found = jobs_.find(id);
  return found != jobs_.end() && found->second.running;
}

void ZygoteCompilePool::drain() {
  draining_ = true;
  auto queued = queue_.jobs();
  for (const auto id : queued) queue_.remove(id);
  finish_later(std::move(queued), {ErrorCode::unavailable, "the daemon is stopping"});
}

CompilePoolStats ZygoteCompilePool::stats() const {
  auto stats = stats_;
  stats.queued_foreground = static_cast<std::uint32_t>(queue_.size(Priority::foreground));
  stats.queued_prewarm = static_cast<std::uint32_t>(queue_.size(Priority::prewarm));
  return stats;
}

std::vector<int> ZygoteCompilePool::zygote_pids() const {
  std::vector<int> pids;
  for (const auto& [id, zygote] : zygotes_) pids.push_back(zygote->pid());
  return pids;
}

void ZygoteCompilePool::on_ready(Zygote&) {
  dispatch();
}

void ZygoteCompilePool::on_down(Zygote& zygote, const Error& why) {
  std::vector<JobId> waiting;
  for (const auto id : queue_.jobs()) {
    if (jobs_.at(id).zygote == &zygote) waiting.push_back(id);
  }
  for (const auto id : waiting) queue_.remove(id);
  finish_later(std::move(waiting), why);
}

void ZygoteCompilePool::on_done(JobId id, CompileResult result) {
  --stats_.running;
  // The next job starts before this one's answer goes out: the processor does not wait for the answering.
  jobs_.at(id).running = false;
  dispatch();
  finish(id, std::move(result));
}

void ZygoteCompilePool::on_lost(JobId id, const Error& why) {
  --stats_.running;
  auto& job = jobs_.at(id);
  job.running = false;
  if (job.cancelled) return finish(id, Error{ErrorCode::cancelled, "the compile was cancelled"});
  // Once more, at the head of its class: most likely another job, or an operator, killed the zygote. Twice is no
  // chance.
  if (job.retried) return finish(id, why);
  job.retried = true;
  if (draining_) return finish(id, Error{ErrorCode::unavailable, "the daemon is stopping"});
  queue_.push_front(id, job.priority, job.owner);
  dispatch();
}

void ZygoteCompilePool::dispatch() {
  while (stats_.running < stats_.workers) {
    const auto next = queue_.pop([this](JobId id) { return jobs_.at(id).zygote->ready(); });
    if (!next) return;
    auto& job = jobs_.at(*next);
    job.running = true;
    ++stats_.started;
    stats_.most_running = std::max(stats_.most_running, ++stats_.running);
    job.zygote->run(*next, job.unit);
  }
}

void ZygoteCompilePool::finish(JobId id, CompileResult result) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const auto done = std::move(found->second.done);
  jobs_.erase(found);
  const auto code = result.ok() ? ErrorCode::ok : result.error().code;
  if (code == ErrorCode::ok) {
    ++stats_.succeeded;
  } else if (code == ErrorCode::timed_out) {
    ++stats_.timed_out;
  } else if (code == ErrorCode::cancelled) {
    ++stats_.cancelled;
  } else {
    ++stats_.failed;
  }
  done(std::move(result));
}

void ZygoteCompilePool::finish_later(std::vector<JobId> ids, Error why) {
  if (ids.empty()) return;
  boost::asio::post(io_, [this, alive = alive_, ids = std::move(ids), why = std::move(why)] {
    for (const auto id : ids) {
      if (*alive) finish(id, why);
    }
  });
}

}  // namespace cubind
