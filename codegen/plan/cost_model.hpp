// How long a config should take: a model with named terms and one table of constants per target (arch_spec.hpp), so
// that measurements can be fitted to it. Only the order of the answers matters.
//
//   time = launch + the largest of the terms below + not_hidden of the others + partial
//
//   memory   weights, scales, x and out, each once, at the device's bandwidth
//   feed     what the blocks of the busiest SM read (weights once per row of tiles, x once per column), at the rate at
//   which
//            one SM reads the L2
//   shared   what its warps read from shared memory: x once for each of warps_n
//   compute  its MMAs or its unpacking of weights, whichever is more; a block unpacks its weights once for each of its
//            warps_m; fewer warps than kWarpsForFullRate do not reach the rate
//   latency  its rounds of resident blocks, each a start and its k steps; a step takes no less than the memory's
//   latency
//            shared by the stages in flight
//   partial  splits > 1: partial sums written and read again, and the wait for the last split
//
// m enters as whole tiles, the way the kernel computes.
#pragma once

#include <cstdint>

#include "codegen/plan/arch_spec.hpp"

namespace cubind {

struct GemmShape {
  std::uint32_t n = 0, k = 0, m = 0;
  std::uint32_t group_k = 0;  // 0: one scale per row of weights
};

// What does not depend on the shape.
struct ConfigCost {
  GemmConfig config;
  std::uint32_t resident_blocks = 1;  // of one SM at the same time, as far as shared memory and registers allow
};

ConfigCost config_cost(const GemmConfig& config, const ArchSpec& arch);

// Microseconds. k_tiles_per_split * splits covers k.
double estimate_us(const ConfigCost& cost, const ArchSpec& arch, std::uint32_t sm_count, const GemmShape& shape,
                   std::uint32_t splits, std::uint32_t k_tiles_per_split);

}  // namespace cubind
