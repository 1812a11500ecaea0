// Dynamic shared memory of a block, the one formula for planner, launcher and kernel (GemmKernel::wgmma's:
// wgmma_layout.cuh). Two lives, one after the other:
//
//   main loop   stages x { activations [tile_m][tile_k] 16 bits, swizzled
//                          weights     [tile_n / 16][tile_k / 64] units
//                          scales      [tile_n / 16][tile_k / 64][groups of a unit][8][2] 16 bits
//                          zeros       the same, 8 bits, if there are any }
//   epilogue    sums [warps_k][tile_m][tile_n + kSumPad] f32
//
// Every unit has its own copy of its scales, also where several units share a group: the loader looks the group up by
// the run-time shift, and the main loop needs no group arithmetic.
#pragma once

#include "codegen/device/config.cuh"
#include "codegen/device/tile/packed_weights.cuh"
#include "codegen/device/tile/wgmma_layout.cuh"

namespace cubind {

// Four floats: a warp's store of an accumulator register then meets 32 different banks, and rows stay 16-byte aligned.
inline constexpr unsigned kSumPad = 4;

struct SmemLayout {
  unsigned panels = 0;       // of 16 weight rows
  unsigned units = 0;        // of 64 k
  unsigned groups = 0;       // scale groups of one unit
  unsigned activations = 0;  // offsets within a stage
  unsigned weights = 0;
  unsigned scales = 0;
  unsigned zeros = 0;
  unsigned stage_bytes = 0;
  unsigned sum_row = 0;  // floats from one token's sums to the next
  unsigned sums_bytes = 0;
  unsigned arrival = 0;  // u32: what the block's first thread tells the others about split-K (epilogue)
  unsigned total_bytes = 0;
};

constexpr CUBIND_HD SmemLayout smem_layout(const GemmConfig& config) {
  SmemLayout l;
  l.panels = config.tile_n / kUnitRows;
  l.units = config.tile_k / kUnitK;
  l.groups = config.scale_class == ScaleClass::g32 ? 2 : 1;
  const unsigned slots = l.panels * l.units * l.groups;
  l.activations = 0;
  l.weights = l.activations + config.tile_m * config.tile_k * 2;
  l.scales = l.weights + l.panels * l.units * unit_bytes(config.weight_bits);
  l.zeros = l.scales + slots * kGroupScaleBytes;
  l.stage_bytes = l.zeros + (config.zero_points ? slots * kGroupZeroBytes : 0);
  l.sum_row = config.tile_n + kSumPad;
  l.sums_bytes = config.warps_k * config.tile_m * l.sum_row * 4;
  l.arrival = l.sums_bytes;
  const unsigned ring = config.stages * l.stage_bytes;
  const unsigned epilogue = l.arrival + kChunkBytes;
  l.total_bytes = ring > epilogue ? ring : epilogue;
  return l;
}

constexpr CUBIND_HD unsigned smem_bytes(const GemmConfig& config) {
  return config.kernel == GemmKernel::wgmma ? wgmma_layout(config).total_bytes : smem_layout(config).total_bytes;
}

}  // namespace cubind
