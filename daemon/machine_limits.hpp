// What this process may use of the machine: processors from its affinity and the cgroup's quota, memory from the
// machine and the cgroup's limit. Not what the machine has: a container of two processors on a host of 128 compiles two
// at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubind {

struct MachineLimits {
  double cpus = 1;
  std::uint64_t memory_bytes = 0;  // 0 = unknown
};

// What one compile may be expected to take: NVRTC with a large kernel peaks at about 140 MB resident; the margin keeps
// a burst of big ones from meeting the limit.
inline constexpr std::uint64_t kMemoryPerCompile = 350ull << 20;

// How many may compile at once: as many as configured, or (0) as processors allow; never more than memory allows, or
// the kernel would choose whom to kill, and never none.
std::uint32_t workers_for(std::uint32_t configured, const MachineLimits& limits);

// Reads <root>/proc/self/cgroup, <root>/proc/meminfo and <root>/sys/fs/cgroup (version 2, else version 1); a limit
// counts wherever it is set between the process's group and the root. `affinity` is the number of processors it may run
// on.
MachineLimits read_machine_limits(const std::string& root, unsigned affinity);
MachineLimits read_machine_limits();  // of this process

// Pure parts.
std::optional<double> cpus_of_cpu_max(std::string_view text);        // "150000 100000" -> 1.5; "max 100000" -> nothing
std::optional<std::uint64_t> bytes_of_limit(std::string_view text);  // "max" and version 1's huge numbers -> nothing
// The group's path of a controller in /proc/self/cgroup; "" asks for version 2's single hierarchy.
std::optional<std::string> cgroup_path(std::string_view proc_self_cgroup, std::string_view controller);

}  // namespace cubind
