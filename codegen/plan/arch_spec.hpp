// What the planner knows of each target: what a kernel may use there, and how fast the usual device of that target is.
// A table; nothing is read from a device.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/device/config.cuh"
#include "protocol/arch.hpp"

namespace cubind {

// The planner's unit is the microsecond. A rate is per SM, so that it also holds for a slice of a device.
struct CostConstants {
  double launch_us;             // a launch that does nothing
  double block_us;              // a block's start, pipeline fill and epilogue
  double step_us;               // one step of the k loop besides its MMAs: barrier, addresses, copies
  double warp_mma_us;           // one MMA of a warp that nothing overlaps
  double latency_us;            // from a copy's issue to its arrival, memory loaded
  double split_us;              // counter and fence, once per launch with splits
  double reduce_us;             // what each split adds to the wait of the last one
  double partial_bytes_per_us;  // partial sums leaving one SM
  double dram_bytes_per_us;     // the memory's bandwidth / SMs
  double l2_bytes_per_us;       // one SM reading the L2
  double smem_bytes_per_us;     // one SM reading its shared memory
  double mma_per_us;            // m16n8k16 instructions of one SM
  double unpack_per_us;         // weights of one SM, from packed to 16 bits
};

struct ArchSpec {
  Arch arch;                     // sm_90, sm_90a
  const char* device;            // whose costs these are
  std::uint32_t smem_per_block;  // most dynamic shared memory of a block (opt-in), bytes
  std::uint32_t smem_per_sm;     // bytes; a block takes 1 KB more than it asks for, except on sm_75
  std::uint32_t threads_per_sm;
  std::uint32_t blocks_per_sm;
  std::uint32_t nominal_sm_count;  // plans that must not depend on the device are made for this many
  bool bf16;
  bool async_copy;
  MmaKind mma;
  CostConstants cost;
  bool wgmma = false;  // GemmKernel::wgmma: wgmma, tensor copies, mbarriers
};

std::span<const ArchSpec> arch_specs();     // ascending
const ArchSpec* find_arch_spec(Arch arch);  // null if no code is generated for it

}  // namespace cubind
