// Dynamic shared memory of a block of the wgmma kernel, the one formula for planner, launcher and kernel:
//
//   ring      stages x { activations [units][tile_m][64] 16 bits, in 128-byte rows swizzled as TMA writes them
//                        weights     [tile_n / 16][units] units of 16 x 64
//                        scales      [tile_n / 16][units][groups of a unit][8][2] 16 bits
//                        zeros       the same, 8 bits, if there are any }
//   sums      [slabs][other parts][rows of 64][accumulators / 4][threads][4] f32, of those who share a tile along k;
//   over
//             the ring where sums and ring together leave too few stages
//   staging   [warp groups][2][kSlabTokens][rows of a warp group + padding] 16 bits: output on its way
//   barriers  full, empty of each stage
//
// Alignment: stages and their activations lie on 1024 bytes, which the swizzle's pattern needs; the base is rounded up
// by the kernel, hence kWgmmaBasePad.
#pragma once

#include "codegen/device/config.cuh"
#include "codegen/device/tile/packed_weights.cuh"

namespace cubind {

inline constexpr unsigned kWgmmaBasePad = 1024;
inline constexpr unsigned kWarpGroupWarps = 4;
inline constexpr unsigned kWarpGroupThreads = kWarpGroupWarps * kWarpLanes;
inline constexpr unsigned kWgmmaRows = 64;   // rows of A of one wgmma
inline constexpr unsigned kSlabTokens = 16;  // tokens that are turned round at a time
inline constexpr unsigned kStagingPad = 16;  // bytes after a row of output: stmatrix rows then meet different banks

struct WgmmaLayout {
  unsigned panels = 0;            // of 16 weight rows
  unsigned units = 0;             // of 64 k, of a stage
  unsigned groups = 0;            // scale groups of one unit
  unsigned row_groups = 0;        // warp groups that multiply: along rows,
  unsigned ways = 0;              //   and those that share rows along k
  unsigned warp_groups = 0;       // both
  unsigned blocks = 0;            // of 64 rows, of a warp group
  unsigned unit_activations = 0;  // bytes of a unit's
  unsigned weights = 0;           // offsets within a stage; activations come first
  unsigned scales = 0;
  unsigned zeros = 0;
  unsigned stage_bytes = 0;
  unsigned sums = 0;  // offsets from the rounded base
  bool sums_over_ring = false;
  unsigned staging = 0;
  unsigned staging_row = 0;  // bytes
  unsigned staging_slab = 0;
  unsigned barriers = 0;
  unsigned total_bytes = 0;
};

// The weights' tensor map counts 32-bit words, so that a box of two units is 256 wide, the most there is.
constexpr CUBIND_HD unsigned weights_map_unit(unsigned weight_bits) {
  return unit_bytes(weight_bits) / 4;
}

inline constexpr unsigned kSumSlabBytes = kSlabTokens * kWgmmaRows * 4;
inline constexpr unsigned kMaxRanks = 4;  // blocks of a cluster

// Parts of slabs (kSlabTokens x 64 rows) that a block keeps for each 64 rows, from whoever else has a part of the slab.
constexpr CUBIND_HD unsigned shared_sum_slabs(const GemmConfig& config) {
  unsigned most = 0;
  for (unsigned ranks = 1; config.can_split() && ranks <= kMaxRanks; ranks *= 2) {
    const unsigned kept = ceil_div(config.tile_m / kSlabTokens, ranks) * (ranks * config.warps_k - 1);
    most = kept > most ? kept : most;
  }
  return most;
}

constexpr CUBIND_HD WgmmaLayout wgmma_layout(const GemmConfig& config) {
  WgmmaLayout l;
  l.panels = config.tile_n / kUnitRows;
  l.units = config.tile_k / kUnitK;
  l.groups = config.scale_class == ScaleClass::g32 ? 2 : 1;
  l.row_groups = config.warps_n / kWarpGroupWarps;
  l.ways = config.warps_k;
  l.warp_groups = l.row_groups * l.ways;
  l.blocks = config.tile_n / l.row_groups / kWgmmaRows;
  const unsigned slots = l.panels * l.units * l.groups;
  l.unit_activations = config.tile_m * kUnitK * 2;
  l.weights = l.units * l.unit_activations;
  l.scales = l.weights + l.panels * l.units * unit_bytes(config.weight_bits);
  l.zeros = l.scales + slots * kGroupScaleBytes;
  l.stage_bytes = ceil_div(l.zeros + (config.zero_points ? slots * kGroupZeroBytes : 0), 1024) * 1024;
  const unsigned ring = config.stages * l.stage_bytes;
  const unsigned sums = shared_sum_slabs(config) * l.row_groups * l.blocks * kSumSlabBytes;
  l.sums_over_ring = config.warps_k > 1 && config.tile_m >= 48;
  l.sums = l.sums_over_ring ? 0 : ring;
  l.staging = !l.sums_over_ring ? ring + sums : ring > sums ? ring : sums;
  l.staging_row = l.blocks * kWgmmaRows * 2 + kStagingPad;
  l.staging_slab = kSlabTokens * l.staging_row;
  l.barriers = l.staging + l.warp_groups * 2 * l.staging_slab;
  l.total_bytes = l.barriers + config.stages * 16 + kWgmmaBasePad;
  return l;
}

}  // namespace cubind
