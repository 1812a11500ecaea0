#include "daemon/metrics.hpp"

namespace cubind {

std::vector<Measured> measure(const Metrics& metrics, const MetricSources& sources) {
  const auto& store = sources.store;
  const auto& pool = sources.pool;
  const auto number = [](auto value) { return static_cast<double>(value); };
  return {
      {"cubind_requests_total", "requests of every kind", number(metrics.requests)},
      {"cubind_requests_refused_total", "answered with an error as a whole", number(metrics.requests_refused)},
      {"cubind_requests_cancelled_total", "withdrawn by the client", number(metrics.requests_cancelled)},
      {"cubind_protocol_errors_total", "connections that ended because of broken bytes or no greeting",
       number(metrics.protocol_errors)},

      {"cubind_kernels_hit_memory_total", "kernels answered from memory", number(metrics.hits_memory)},
      {"cubind_kernels_hit_disk_total", "kernels answered from disk", number(metrics.hits_disk)},
      {"cubind_kernels_missed_total", "distinct kernels looked for that no tier had", number(metrics.missed)},
      {"cubind_kernels_built_total", "kernels whose asker started the compile", number(metrics.built)},
      {"cubind_kernels_joined_total", "kernels whose asker waited for a compile that another had started",
       number(metrics.joined)},
      {"cubind_kernels_pending_total", "not ready at the deadline, or queued by hit_only and prefetch",
       number(metrics.pending)},
      {"cubind_kernels_failed_total", "answered with an error", number(metrics.failed)},
      {"cubind_wait_milliseconds_total", "from request to answer, summed over built and joined kernels",
       metrics.wait_ms},
      {"cubind_failures_remembered_total", "failed compiles answered from the negative cache",
       number(metrics.failures_remembered)},
      {"cubind_unusable_cubins_total", "compiled, but not what was asked for", number(metrics.unusable_cubins)},
      {"cubind_flights", "kernels that are being read, compiled or stored now", number(sources.flights)},

      {"cubind_compiles_started_total", "compiles started", number(pool.started)},
      {"cubind_compiles_succeeded_total", "compiles that gave a cubin", number(pool.succeeded)},
      {"cubind_compiles_failed_total", "compiles that did not", number(pool.failed)},
      {"cubind_compiles_timed_out_total", "killed at compile.cpu_time or compile.timeout", number(pool.timed_out)},
      {"cubind_compiles_cancelled_total", "compiles that were stopped", number(pool.cancelled)},
      {"cubind_compiles_after_ready_total", "compiles that a client needed after it had declared itself ready",
       number(metrics.compiles_after_ready)},
      {"cubind_slow_compiles_total", "compiles above 2 s", number(metrics.slow_compiles)},
      {"cubind_compile_milliseconds_total", "wall time of the successful ones, in their workers", metrics.compile_ms},
      {"cubind_compiles_running", "running now", number(pool.running)},
      {"cubind_compiles_running_most", "most at once so far", number(pool.most_running)},
      {"cubind_compile_queue_foreground", "compiles waiting that somebody waits for", number(pool.queued_foreground)},
      {"cubind_compile_queue_prewarm", "compiles waiting that nobody waits for", number(pool.queued_prewarm)},
      {"cubind_compile_workers", "the most compiles that may run at once", number(pool.workers)},
      {"cubind_toolchains", "installed NVRTCs that can compile", number(sources.toolchains)},

      {"cubind_store_records", "kernels on disk", number(store.records)},
      {"cubind_store_bytes", "their cubins, before compression", number(store.bytes)},
      {"cubind_store_evictions_total", "removed for space", number(store.evictions)},
      {"cubind_store_corrupt_records_total", "failed their check, were removed and count as misses",
       number(store.corrupt_records)},
      {"cubind_store_put_failures_total", "not stored: the disk did not take them", number(store.put_failures)},
      {"cubind_store_get_failures_total", "reads that the disk failed, counted as misses", number(store.get_failures)},
      {"cubind_store_set_aside_total", "stores that could not be read and were begun anew", number(store.set_aside)},
      {"cubind_store_degraded", "1 while the store does not work", store.degraded ? 1.0 : 0.0},
      {"cubind_base_records", "kernels in the read-only base layer", number(store.base_records)},
      {"cubind_base_hits_total", "hits on disk that the base layer answered", number(store.base_hits)},
      {"cubind_records_imported_total", "kernels that an administrator's imports stored",
       number(metrics.records_imported)},
      {"cubind_imports_refused_total", "imports that were refused, or failed", number(metrics.imports_refused)},
      {"cubind_memory_kernels", "kernels in memory", number(sources.memory_kernels)},
      {"cubind_memory_bytes", "their cubins", number(sources.memory_bytes)},
      {"cubind_memory_evictions_total", "dropped from memory", number(sources.memory_evictions)},

      {"cubind_connections_total", "connections accepted", number(metrics.connections)},
      {"cubind_connections_open", "connections now", number(metrics.connections_open)},
      {"cubind_connections_refused_total", "above socket.max_connections, or without a readable identity",
       number(metrics.connections_refused)},
      {"cubind_connections_dropped_total", "readers that took nothing for 30 s", number(metrics.connections_dropped)},
      {"cubind_sent_bytes_total", "bytes sent to clients", number(metrics.sent_bytes)},
      {"cubind_trace_entries", "distinct things asked for so far, as cubinctl trace lists them",
       number(sources.trace_entries)},
      {"cubind_log_lines_lost_total", "the log's reader was too slow", number(sources.log_lines_lost)},
      {"cubind_uptime_seconds", "since the daemon started", sources.uptime_seconds},
  };
}

std::vector<Counter> counters(const std::vector<Measured>& measured) {
  std::vector<Counter> counters;
  counters.reserve(measured.size());
  for (const auto& one : measured) counters.push_back({one.name, one.value});
  return counters;
}

}  // namespace cubind
