#include "daemon/kernel_service.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "protocol/limits.hpp"

namespace cubind {

KernelService::KernelService(const Parts& parts)
    : parts_(parts), flights_([this](const KernelKey& key, Priority priority) {
        const auto found = work_.find(key);
        if (found != work_.end() && found->second.job != 0) parts_.pool.set_priority(found->second.job, priority);
      }) {}

KernelService::Asked KernelService::get_or_build(const KernelRef& kernel, Priority priority, FlightWaiter& waiter,
                                                 std::size_t tag, std::uint32_t owner) {
  if (auto hit = parts_.memory.get(kernel->key)) {
    parts_.store.touch(kernel->key);  // or eviction would take from the disk what memory answers all day
    return {std::move(hit), {}};
  }

  // From here on the work is shared. Losing this waiter does not stop it: others may wait, and the next one will ask.
  const auto joined = flights_.join(kernel->key, priority, waiter, tag);
  if (joined.first) {
    start(kernel, owner);
  } else {
    auto& work = work_[kernel->key];
    if (work.kernel->toolchain == nullptr) work.kernel = kernel;  // begun by key alone; now it is known how to build it
    if (work.job != 0 && priority == Priority::foreground) parts_.pool.share(work.job, owner);
  }
  return {nullptr, joined};
}

bool KernelService::needed_when_ready(const KernelKey& key) {
  const auto found = work_.find(key);
  return found != work_.end() && !std::exchange(found->second.needed_when_ready, true);
}

bool KernelService::is_compiling(const KernelKey& key) const {
  const auto found = work_.find(key);
  return found != work_.end() && found->second.job != 0 && parts_.pool.is_running(found->second.job);
}

// A flight: read the disk, else build, store, answer.
void KernelService::start(const KernelRef& kernel, std::uint32_t owner) {
  work_[kernel->key] = Work{kernel, owner};
  read(kernel);
}

void KernelService::read(const KernelRef& kernel) {
  parts_.executor.on_disk_thread([this, kernel] {
    auto read = std::make_shared<Read>(Read{parts_.store.get(kernel->key, kernel->ingredients), std::nullopt});
    if (read->found.ok() && !read->found->has_value()) {
      if (auto failure = parts_.store.get_failure(kernel->key); failure.ok()) read->failure = *std::move(failure);
    }
    parts_.executor.on_loop([this, key = kernel->key, read] { on_read(key, std::move(*read)); });
  });
}

void KernelService::on_read(const KernelKey& key, Read read) {
  if (!read.found.ok()) {
    log(LogLevel::warn, "read_failed",
        {{"key", key.short_hex()}, {"error", to_string(read.found.error())}, {"then", "treated as a miss"}});
  } else if (read.found->has_value()) {
    auto artifact = std::make_shared<const Artifact>(**std::move(read.found));
    parts_.memory.put(artifact);
    return finish(key, {std::move(artifact), false, {}});
  }

  ++parts_.metrics.missed;
  const KernelRef kernel = work_.at(key).kernel;
  if (kernel->toolchain == nullptr) {
    return finish(key, {Error{ErrorCode::not_found, "key \"" + key.hex() + "\" is in no record"}, false, {}});
  }
  if (read.failure.has_value()) {
    ++parts_.metrics.failures_remembered;
    return finish(
        key, {Error{ErrorCode::compile_failed, std::move(read.failure->message)}, false, std::move(read.failure->log)});
  }
  build(kernel);
}

void KernelService::build(const KernelRef& kernel) {
  const auto refuse = [&](ErrorCode code, std::string why) {
    finish(kernel->key, {Error{code, std::move(why)}, false, {}});
  };
  if (draining_) return refuse(ErrorCode::unavailable, "the daemon is stopping: ask again");
  if (!kernel->toolchain->installed) {
    return refuse(ErrorCode::unavailable, "toolchain \"" + kernel->toolchain->id +
                                              "\" is not installed: only kernels that are stored can be had");
  }
  auto keyed = make_keyed_unit(kernel->descriptor, kernel->config, kernel->arch, *kernel->toolchain);
  if (!keyed.ok()) return finish(kernel->key, {std::move(keyed).error(), false, {}});
  auto unit = std::make_shared<CompileUnit>(std::move(keyed->unit));
  auto& work = work_.at(kernel->key);
  auto job =
      parts_.pool.submit(*unit, flights_.priority(kernel->key), work.owner,
                         [this, kernel, unit](CompileResult result) { on_built(kernel, unit, std::move(result)); });
  if (!job.ok()) return finish(kernel->key, {std::move(job).error(), false, {}});
  work.job = *job;
  flights_.missed(kernel->key);
}

void KernelService::on_built(const KernelRef& kernel, std::shared_ptr<CompileUnit> unit, CompileResult result) {
  if (result.ok()) return publish(kernel, std::move(unit), *std::move(result));

  auto error = result.error();
  if (error.code == ErrorCode::cancelled && cancelling_) {
    error = {ErrorCode::unavailable, "the daemon is stopping: ask again"};
  }
  if (error.code == ErrorCode::compile_failed) remember_failure(kernel->key, error, result.failure_log);
  log(error.code == ErrorCode::unavailable ? LogLevel::info : LogLevel::error, "compile_failed",
      {{"key", kernel->key.short_hex()},
       {"name", unit->name},
       {"arch", to_string(unit->arch)},
       {"toolchain", unit->toolchain},
       {"error", to_string(error)}});
  finish(kernel->key, {std::move(error), false, std::move(result.failure_log)});
}

// The put comes before the answer: who has been answered finds the kernel after a crash. A put that fails is counted by
// the store and logged, and the answer is served all the same.
void KernelService::publish(const KernelRef& kernel, std::shared_ptr<CompileUnit> unit, CompileOutput output) {
  const auto owner = work_.at(kernel->key).owner;
  parts_.executor.on_disk_thread(
      [this, kernel, unit, owner, output = std::make_shared<CompileOutput>(std::move(output))] {
        auto artifact = std::make_shared<Result<std::shared_ptr<const Artifact>>>(nullptr);
        auto put = std::make_shared<Status>();
        if (auto made = parts_.build(*unit, kernel->descriptor, kernel->config, std::move(*output)); !made.ok()) {
          *artifact = std::move(made).error();
        } else {
          *artifact = std::make_shared<const Artifact>(*std::move(made));
          CUBIND_FAULT_POINT("service.before_put");
          *put = parts_.store.put_as(***artifact, kernel->ingredients, owner);
          CUBIND_FAULT_POINT("service.after_put");
        }
        parts_.executor.on_loop([this, kernel, artifact, put] { on_published(kernel, std::move(*artifact), *put); });
      });
}

void KernelService::on_published(const KernelRef& kernel, Result<std::shared_ptr<const Artifact>> artifact,
                                 const Status& put) {
  if (!artifact.ok()) {
    ++parts_.metrics.unusable_cubins;
    log(LogLevel::error, "unusable_cubin", {{"key", kernel->key.short_hex()}, {"error", to_string(artifact.error())}});
    return finish(kernel->key, {std::move(artifact).error(), false, {}});
  }
  const auto& info = (*artifact)->info;
  if (!put.ok()) {
    log(LogLevel::warn, "put_failed",
        {{"key", kernel->key.short_hex()}, {"error", to_string(put.error())}, {"then", "served from memory"}});
  }
  parts_.metrics.compile_ms += info.compile_ms;
  const bool slow = info.compile_ms > static_cast<double>(limits::kSlowCompile.count());
  if (slow) ++parts_.metrics.slow_compiles;
  log(slow ? LogLevel::warn : LogLevel::info, "compile",
      {{"key", kernel->key.short_hex()},
       {"name", info.name},
       {"arch", to_string(info.arch)},
       {"toolchain", info.toolchain},
       {"ms", static_cast<std::int64_t>(info.compile_ms)},
       {"peak_mb", info.compile_peak_bytes >> 20},
       {"bytes", (*artifact)->cubin->size()}});
  parts_.memory.put(*artifact);
  finish(kernel->key, {std::move(artifact), true, {}});
}

void KernelService::finish(const KernelKey& key, FlightResult result) {
  work_.erase(key);
  flights_.finish(key, result);
  tell_if_idle();
}

// Only the source's fault is remembered: anything else may go better next time.
void KernelService::remember_failure(const KernelKey& key, const Error& error, const std::string& failure_log) {
  const auto expires = parts_.clock.wall_now() + limits::kFailureMemory;
  parts_.executor.on_disk_thread([this, key, failure = StoredFailure{error.message, failure_log, unix_ms(expires)}] {
    // A failure that is not remembered costs one more compile; the store counts its own troubles.
    static_cast<void>(parts_.store.put_failure(key, failure));
  });
}

void KernelService::drain(Executor::Work idle) {
  draining_ = true;
  idle_ = std::move(idle);
  parts_.pool.drain();
  tell_if_idle();
}

void KernelService::tell_if_idle() {
  if (idle_ && work_.empty()) parts_.executor.on_loop(std::exchange(idle_, nullptr));
}

void KernelService::cancel_running() {
  cancelling_ = true;
  std::vector<CompilePool::JobId> jobs;
  for (const auto& [key, work] : work_) {
    if (work.job != 0) jobs.push_back(work.job);
  }
  for (const auto job : jobs) parts_.pool.cancel(job);
}

}  // namespace cubind
