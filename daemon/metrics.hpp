// What the daemon counts. Names are stable and documented in docs/operations.md (a test holds the two together).
// Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/artifact_store.hpp"
#include "cache/memory_store.hpp"
#include "daemon/compile_pool.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct Metrics {
  // Requests of every kind.
  std::uint64_t requests = 0, requests_refused = 0, requests_cancelled = 0, protocol_errors = 0;
  // Kernels of KernelsRequests, by what came of them.
  std::uint64_t hits_memory = 0, hits_disk = 0, built = 0, joined = 0, pending = 0, failed = 0;
  double wait_ms = 0;        // from request to answer, over built and joined
  std::uint64_t missed = 0;  // flights that found their kernel in no tier
  double compile_ms = 0;
  std::uint64_t compiles_after_ready = 0;  // needed by who had declared itself ready
  std::uint64_t slow_compiles = 0;         // above limits::kSlowCompile
  std::uint64_t failures_remembered = 0;   // answered from the negative cache
  std::uint64_t unusable_cubins = 0;       // compiled, but not what was asked for
  std::uint64_t records_imported = 0, imports_refused = 0;
  // Connections.
  std::uint64_t connections = 0, connections_open = 0, connections_refused = 0, connections_dropped = 0;
  std::uint64_t sent_bytes = 0;
};

// What is measured elsewhere and shown beside it.
struct MetricSources {
  StoreStats store;
  CompilePoolStats pool;
  std::size_t memory_kernels = 0, memory_bytes = 0;
  std::uint64_t memory_evictions = 0;
  std::size_t flights = 0;
  std::size_t toolchains = 0, trace_entries = 0;
  std::uint64_t log_lines_lost = 0;
  double uptime_seconds = 0;
};

// One measurement. Names that end in _total only grow while the daemon runs; the others go up and down.
struct Measured {
  const char* name;
  const char* help;
  double value;
};
std::vector<Measured> measure(const Metrics& metrics, const MetricSources& sources);

// The same for the wire.
std::vector<Counter> counters(const std::vector<Measured>& measured);

}  // namespace cubind
