// How long a config should take: a model with named terms and one table of constants per target (arch_spec.hpp), so
// that measurements can be fitted to it. Only the order of the answers matters.
//
//   time = launch + the larger of memory and work + some of the smaller + partial
//
//   memory   weights, scales, x and out, each once, at the device's bandwidth
//   work     of the busiest SM: blocks x (k steps x busy + epilogue) + rounds of resident blocks x (start + k steps x
//            alone). Blocks that are resident together share the SM's pipes, and wait at the same time
//     busy     the slowest of a step's MMAs, unpacking (a block unpacks its weights once for each of its warps_m),
//     reads
//              of x from shared memory (once for each of warps_n) and reads from the L2
//     alone    a step's fixed part and its MMAs one after the other in a warp; but no less than the memory's latency
//              shared by the stages in flight
//     epilogue the sum over warps_k in shared memory, and the store of the output
//   partial  splits > 1: partial sums written, and the last split's wait, the longer the more there are
//
// m enters as whole tiles, the way the kernel computes. GemmKernel::wgmma has a shorter model of its own.
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
