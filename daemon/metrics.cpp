#include "daemon/metrics.hpp"

namespace cubind {

std::vector<Counter> counters(const Metrics& metrics, const MetricSources& sources) {
  const auto& store = sources.store;
  const auto& pool = sources.pool;
  const auto number = [](auto value) { return static_cast<double>(value); };
  return {
      {"cubind_requests_total", number(metrics.requests)},
      {"cubind_requests_refused_total", number(metrics.requests_refused)},
      {"cubind_requests_cancelled_total", number(metrics.requests_cancelled)},
      {"cubind_protocol_errors_total", number(metrics.protocol_errors)},

      {"cubind_kernels_hit_memory_total", number(metrics.hits_memory)},
      {"cubind_kernels_hit_disk_total", number(metrics.hits_disk)},
      {"cubind_kernels_built_total", number(metrics.built)},
      {"cubind_kernels_joined_total", number(metrics.joined)},
      {"cubind_kernels_pending_total", number(metrics.pending)},
      {"cubind_kernels_failed_total", number(metrics.failed)},
      {"cubind_failures_remembered_total", number(metrics.failures_remembered)},
      {"cubind_unusable_cubins_total", number(metrics.unusable_cubins)},
      {"cubind_flights", number(sources.flights)},

      {"cubind_compiles_started_total", number(pool.started)},
      {"cubind_compiles_succeeded_total", number(pool.succeeded)},
      {"cubind_compiles_failed_total", number(pool.failed)},
      {"cubind_compiles_timed_out_total", number(pool.timed_out)},
      {"cubind_compiles_cancelled_total", number(pool.cancelled)},
      {"cubind_compile_milliseconds_total", metrics.compile_ms},
      {"cubind_compiles_running", number(pool.running)},
      {"cubind_compiles_running_most", number(pool.most_running)},
      {"cubind_compile_queue_foreground", number(pool.queued_foreground)},
      {"cubind_compile_queue_prewarm", number(pool.queued_prewarm)},
      {"cubind_compile_workers", number(pool.workers)},

      {"cubind_store_records", number(store.records)},
      {"cubind_store_bytes", number(store.bytes)},
      {"cubind_store_evictions_total", number(store.evictions)},
      {"cubind_store_corrupt_records_total", number(store.corrupt_records)},
      {"cubind_store_put_failures_total", number(store.put_failures)},
      {"cubind_store_get_failures_total", number(store.get_failures)},
      {"cubind_store_degraded", store.degraded ? 1.0 : 0.0},
      {"cubind_memory_kernels", number(sources.memory_kernels)},
      {"cubind_memory_bytes", number(sources.memory_bytes)},
      {"cubind_memory_evictions_total", number(sources.memory_evictions)},

      {"cubind_connections_total", number(metrics.connections)},
      {"cubind_connections_open", number(metrics.connections_open)},
      {"cubind_connections_refused_total", number(metrics.connections_refused)},
      {"cubind_connections_dropped_total", number(metrics.connections_dropped)},
      {"cubind_sent_bytes_total", number(metrics.sent_bytes)},
      {"cubind_log_lines_lost_total", number(sources.log_lines_lost)},
      {"cubind_uptime_seconds", sources.uptime_seconds},
  };
}

}  // namespace cubind
