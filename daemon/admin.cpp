#include "daemon/admin.hpp"

#include <chrono>
#include <utility>

#include <unistd.h>

#include "base/log.hpp"

namespace cubind {

Admin::Admin(Parts parts) : parts_(std::move(parts)), started_(parts_.clock.now()) {}

std::vector<Measured> Admin::measure() const {
  MetricSources sources;
  sources.store = parts_.store.stats();
  sources.pool = parts_.pool.stats();
  sources.memory_kernels = parts_.memory.size();
  sources.memory_bytes = parts_.memory.bytes();
  sources.memory_evictions = parts_.memory.evictions();
  sources.flights = parts_.service.flights();
  sources.toolchains = parts_.planner.installed().size();
  sources.trace_entries = parts_.planner.trace_entries();
  sources.log_lines_lost = log_lines_lost();
  sources.uptime_seconds = std::chrono::duration<double>(parts_.clock.now() - started_).count();
  return cubind::measure(parts_.metrics, sources);
}

StatsReply Admin::stats(const StatsRequest& request) const {
  return {request.id, counters(measure())};
}

HealthReply Admin::health(const HealthRequest& request) const {
  HealthReply reply;
  reply.id = request.id;
  if (const auto store = parts_.store.stats(); store.degraded) reply.reasons.push_back("store: " + store.reason);
  if (!parts_.base_trouble.empty()) reply.reasons.push_back("base: " + parts_.base_trouble);
  if (parts_.planner.installed().empty()) {
    reply.reasons.emplace_back("compile: no toolchain was found, only kernels that are stored can be had");
  }
  if (!reply.reasons.empty()) reply.state = HealthState::degraded;
  if (parts_.service.draining()) {
    reply.state = HealthState::stopping;
    reply.reasons.emplace_back("stopping: misses are refused");
  }
  reply.daemon = parts_.daemon;
  reply.pid = static_cast<std::uint64_t>(::getpid());
  reply.uptime_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(parts_.clock.now() - started_).count());
  for (const auto& toolchain : parts_.planner.installed()) reply.toolchains.push_back(toolchain.id);
  reply.store = parts_.store_folder;
  return reply;
}

Result<ExplainReply> Admin::explain(const ExplainRequest& request) {
  CUBIND_TRY(const auto kernel, parts_.planner.plan_kernel(request.kernel, request.arch, request.toolchain));
  ExplainReply reply{request.id, kernel->key, kernel->ingredients, ""};
  if (request.with_source) {
    CUBIND_TRY(auto keyed, make_keyed_unit(kernel->descriptor, kernel->config, kernel->arch, *kernel->toolchain));
    reply.source = std::move(keyed.unit.source);
  }
  return reply;
}

}  // namespace cubind
