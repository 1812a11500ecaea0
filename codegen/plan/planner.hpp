// Which kernels there are and which one a launch uses. Pure, deterministic, below a millisecond, thread-safe.
//
//   catalogue(descriptor, arch)                     the closed set of configs, at most kMaxCatalogue
//   reachable(descriptor, arch, max_m)              those that any n, k, sm_count can use for m up to max_m: what
//                                                   prewarm takes
//   launch_table(descriptor, arch, sm_count, ...)   the config and launch parameters for every m of [1, max_m], as
//                                                   intervals. From one to the next only where that is worth it
//   plan(descriptor, arch, sm_count, n, k, m)       the table's at one m
//
// A layer that was measured on a device like this one (measured_table.hpp) gets what was fastest: at a measured m, and
// below it down to the next measured one, for fewer tokens take no longer. Where nothing was measured, and where what
// was measured is not in the catalogue any more, the cost model chooses.
//
// Every plan's config is in reachable(descriptor, arch, m) for its m.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "codegen/device/config.cuh"
#include "codegen/plan/measured_table.hpp"
#include "protocol/arch.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

inline constexpr std::size_t kMaxCatalogue = 12;

// The target whose code an arch gets: its own if it has one, else the highest one without suffix of its major that is
// not above it (sm_87 -> sm_86, sm_103a -> sm_100). not_supported lists what there is.
Result<Arch> code_arch(Arch asked);

// sm_75, sm_80, ..., ascending.
std::vector<Arch> code_archs();

struct Plan {
  GemmConfig config;
  std::uint32_t splits = 1;
  std::uint32_t k_tiles_per_split = 0;
  bool operator==(const Plan&) const = default;
};

struct LaunchInterval {
  std::uint32_t m_first = 0, m_last = 0;
  std::uint32_t config = 0;  // index into LaunchTable::configs
  std::uint32_t splits = 1;
  std::uint32_t k_tiles_per_split = 0;
  bool operator==(const LaunchInterval&) const = default;
};

struct LaunchTable {
  std::vector<GemmConfig> configs;        // distinct, in order of first use
  std::vector<LaunchInterval> intervals;  // [1, max_m] without gaps
};

// invalid_argument if validate() refuses the descriptor; not_supported if no generator serves it (the message names the
// field, the value and what is served) or no code exists for the arch.
Result<std::vector<GemmConfig>> catalogue(const GemmDescriptor& descriptor, Arch arch);
Result<std::vector<GemmConfig>> reachable(const GemmDescriptor& descriptor, Arch arch, std::uint32_t max_m);
Result<Plan> plan(const GemmDescriptor& descriptor, Arch arch, std::uint32_t sm_count, std::uint32_t n, std::uint32_t k,
                  std::uint32_t m);
Result<LaunchTable> launch_table(const GemmDescriptor& descriptor, Arch arch, std::uint32_t sm_count, std::uint32_t n,
                                 std::uint32_t k, std::uint32_t max_m);
// The same with a table of the caller's instead of the source tree's; null: by the model alone.
Result<LaunchTable> launch_table(const GemmDescriptor& descriptor, Arch arch, std::uint32_t sm_count, std::uint32_t n,
                                 std::uint32_t k, std::uint32_t max_m, const MeasuredTable* measured);

// "m16n64k128s4w1x1x4" (warps along n, m, k), "wgmma_m64n128k128s8w8x1x1": unique within a catalogue. config_from_name
// finds it there; not_found lists the names there are.
std::string config_name(const GemmConfig& config);
Result<GemmConfig> config_from_name(const GemmDescriptor& descriptor, Arch arch, std::string_view name);

}  // namespace cubind
