#include "client/cli/top_view.hpp"

#include <array>
#include <utility>

#include "client/cli/output.hpp"

namespace cubind::cli {

namespace {

struct Row {
  const char* title;
  const char* counter;
};

// Those that only grow: their rate is what matters.
constexpr std::array kRates = {
    Row{"requests", "cubind_requests_total"},
    Row{"hits, memory", "cubind_kernels_hit_memory_total"},
    Row{"hits, disk", "cubind_kernels_hit_disk_total"},
    Row{"misses", "cubind_kernels_missed_total"},
    Row{"compiles", "cubind_compiles_started_total"},
    Row{"waits", "cubind_kernels_joined_total"},
    Row{"failures", "cubind_kernels_failed_total"},
    Row{"compiles after ready", "cubind_compiles_after_ready_total"},
    Row{"evictions", "cubind_store_evictions_total"},
};

double value_of(const CounterMap& counters, const std::string& name) {
  const auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second;
}

std::string whole(double value) {
  return fixed(value, 0);
}

}  // namespace

CounterMap counter_map(const std::vector<Counter>& counters) {
  CounterMap map;
  for (const auto& counter : counters) map[counter.name] = counter.value;
  return map;
}

std::string top_view(const HealthReply& health, const CounterMap& before, const CounterMap& now, double seconds) {
  const auto get = [&](const char* name) { return value_of(now, std::string("cubind_") + name); };
  std::string text = printable(health.daemon) + ", up " + seconds_text(static_cast<double>(health.uptime_ms)) + ", " +
                     std::string(to_string(health.state)) + "\n";
  for (const auto& reason : health.reasons) text += "  " + printable(reason) + "\n";

  const bool comparable = !before.empty() && seconds > 0 &&
                          value_of(before, "cubind_uptime_seconds") <= value_of(now, "cubind_uptime_seconds");
  std::vector<std::vector<std::string>> rows{{"", "a second", "in all"}};
  for (const auto& [title, counter] : kRates) {
    const auto total = value_of(now, counter);
    rows.push_back({title, comparable ? fixed((total - value_of(before, counter)) / seconds, 1) : "-", whole(total)});
  }
  text += "\n" + table(rows) + "\n";

  const auto kernels = [&](const char* count, const char* bytes) {
    return whole(get(count)) + " kernels, " + bytes_text(static_cast<std::uint64_t>(get(bytes)));
  };
  rows = {{"compiling", whole(get("compiles_running")) + " of " + whole(get("compile_workers"))},
          {"queued",
           whole(get("compile_queue_foreground")) + " foreground, " + whole(get("compile_queue_prewarm")) + " prewarm"},
          {"memory", kernels("memory_kernels", "memory_bytes")},
          {"disk", kernels("store_records", "store_bytes")},
          {"connections", whole(get("connections_open"))}};
  return text + table(rows);
}

}  // namespace cubind::cli
