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

std::string uptime_text(std::uint64_t ms) {
  const auto minutes = ms / 60'000, hours = minutes / 60, days = hours / 24;
  if (minutes == 0) return std::to_string(ms / 1000) + " s";
  if (hours == 0) return std::to_string(minutes) + " min";
  if (days == 0) return std::to_string(hours) + " h " + std::to_string(minutes % 60) + " min";
  return std::to_string(days) + " d " + std::to_string(hours % 24) + " h";
}

}  // namespace

std::string over_the_last_one(const std::string& text) {
  std::string drawn = "\x1b[H";                                                                // home
  for (const char c : text) drawn += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);  // and the line's old end
  return drawn + "\x1b[J";                                                                     // and what is below
}

CounterMap counter_map(const std::vector<Counter>& counters) {
  CounterMap map;
  for (const auto& counter : counters) map[counter.name] = counter.value;
  return map;
}

std::string top_view(const HealthReply& health, const CounterMap& before, const CounterMap& now, double seconds) {
  const auto get = [&](const char* name) { return value_of(now, std::string("cubind_") + name); };
  std::string text = printable(health.daemon) + ", up " + uptime_text(health.uptime_ms) + ", " +
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
