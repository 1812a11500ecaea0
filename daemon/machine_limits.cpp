#include "daemon/machine_limits.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include <sched.h>

namespace cubind {

namespace {
std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::string_view next_word(std::string_view& text) {
  const auto start = std::min(text.find_first_not_of(" \n"), text.size());
  text.remove_prefix(start);
  const auto word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

// The contents of `file` in the group and in each of its parents. Inside a container the path may name a group that is
// mounted at the root: then only the root's file is there.
std::vector<std::string> along(const std::string& mount, std::string group, const std::string& file) {
  std::vector<std::string> contents;
  while (true) {
    while (group.ends_with('/')) group.pop_back();
    if (auto text = read_file(mount + group + "/" + file)) contents.push_back(std::move(*text));
    if (group.empty()) return contents;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

void lower(std::uint64_t& value, std::uint64_t limit) {
  value = value == 0 ? limit : std::min(value, limit);
}
}  // namespace

std::optional<double> cpus_of_cpu_max(std::string_view text) {
  const auto quota = number(next_word(text));
  const auto period = number(next_word(text));
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<std::uint64_t> bytes_of_limit(std::string_view text) {
  constexpr std::uint64_t kNoLimit = 1ull << 60;
  const auto value = number(next_word(text));
  if (!value || *value >= kNoLimit) return std::nullopt;
  return value;
}

std::optional<std::string> cgroup_path(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (controllers.find("," + std::string(controller) + ",") == std::string::npos) continue;
    if (controller.empty() && controllers != ",,") continue;
    return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

MachineLimits read_machine_limits(const std::string& root, unsigned affinity) {
  MachineLimits limits;
  limits.cpus = std::max(1u, affinity);
  if (auto meminfo = read_file(root + "/proc/meminfo")) {
    std::string_view text = *meminfo;  // "MemTotal:  24683520 kB" is the first line
    if (next_word(text) == "MemTotal:") limits.memory_bytes = number(next_word(text)).value_or(0) * 1024;
  }
  const auto groups = read_file(root + "/proc/self/cgroup").value_or("");
  const auto mount = root + "/sys/fs/cgroup";
  const auto lower_cpus = [&](std::optional<double> cpus) {
    if (cpus) limits.cpus = std::min(limits.cpus, *cpus);
  };

  if (const auto group = cgroup_path(groups, "")) {
    for (const auto& text : along(mount, *group, "cpu.max")) lower_cpus(cpus_of_cpu_max(text));
    for (const auto& text : along(mount, *group, "memory.max")) {
      if (const auto bytes = bytes_of_limit(text)) lower(limits.memory_bytes, *bytes);
    }
  }
  if (const auto group = cgroup_path(groups, "cpu")) {
    for (const std::string name : {"/cpu", "/cpu,cpuacct"}) {
      const auto quotas = along(mount + name, *group, "cpu.cfs_quota_us");
      const auto periods = along(mount + name, *group, "cpu.cfs_period_us");
      for (std::size_t i = 0; i < std::min(quotas.size(), periods.size()); ++i) {
        lower_cpus(cpus_of_cpu_max(quotas[i] + " " + periods[i]));  // "-1" is no number: no quota
      }
    }
  }
  if (const auto group = cgroup_path(groups, "memory")) {
    for (const auto& text : along(mount + "/memory", *group, "memory.limit_in_bytes")) {
      if (const auto bytes = bytes_of_limit(text)) lower(limits.memory_bytes, *bytes);
    }
  }
  return limits;
}

MachineLimits read_machine_limits() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = ::sched_getaffinity(0, sizeof(set), &set) == 0;
  return read_machine_limits("", known ? static_cast<unsigned>(CPU_COUNT(&set)) : 1);
}

std::uint32_t workers_for(std::uint32_t configured, const MachineLimits& limits) {
  auto workers = configured != 0 ? configured : static_cast<std::uint32_t>(std::max(1.0, limits.cpus));
  if (limits.memory_bytes != 0) {
    const auto fit = static_cast<std::uint32_t>(std::min<std::uint64_t>(limits.memory_bytes / kMemoryPerCompile, 4096));
    workers = std::min(workers, std::max(1u, fit));
  }
  return workers;
}

}  // namespace cubind
