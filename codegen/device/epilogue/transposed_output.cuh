// A warp group's accumulators to the output: scales of channels, bias, conversion, then turned round through shared
// memory, kSlabTokens at a time (an accumulator has tokens along its columns, the output features along its rows), and
// stored in runs of 8 features. Two buffers take turns: a slab is written while others still read the one before, and
// the barrier between writing and reading a slab also ends the reading of the buffer that comes next.
#pragma once

#include "codegen/device/mainloop/wgmma_tile.cuh"
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/global_memory.cuh"
#include "codegen/device/ptx/stmatrix.cuh"

namespace cubind {

template <GemmConfig kConfig>
class TransposedOutput {
 public:
  static constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  static constexpr unsigned kBlocks = kSmem.blocks, kSums = kConfig.tile_m / 2;
  static constexpr unsigned kGroupRows = kBlocks * kWgmmaRows;

  // staging: this warp group's own. barrier: a named one, likewise.
  CUBIND_DEVICE TransposedOutput(const GemmParams& params, unsigned row_group, unsigned thread, unsigned staging,
                                 unsigned barrier)
      : params_(params), row_group_(row_group), thread_(thread), staging_(staging), barrier_(barrier) {}

  template <class Owns>
  CUBIND_DEVICE void store(const float (&sums)[kBlocks][kSums], TilePlace place, Owns owns) {
    const unsigned first_row = place.n * kConfig.tile_n + row_group_ * kGroupRows;
    const unsigned first_token = place.m * kConfig.tile_m;
    if (first_row >= params_.n) return;
    float scale[kBlocks][2], bias[kBlocks][2];
    load_rows(scale, bias, first_row);
    CUBIND_UNROLL
    for (unsigned slab = 0; slab < kConfig.tile_m / kSlabTokens; ++slab) {
      if (first_token + slab * kSlabTokens >= params_.m) break;
      if (!owns(slab)) continue;
      const unsigned buffer = staging_ + buffer_ * kSmem.staging_slab;
      buffer_ ^= 1;
      write_slab(sums, scale, bias, slab, buffer);
      ptx::bar_sync(barrier_, kWarpGroupThreads);
      store_slab(buffer, first_token + slab * kSlabTokens, first_row);
    }
  }

 private:
  using Float = Number<kConfig.activation>;
  static constexpr unsigned kColumns = kGroupRows / 8;  // runs of 8 features

  CUBIND_DEVICE void load_rows(float (&scale)[kBlocks][2], float (&bias)[kBlocks][2], unsigned first_row) const {
    const bool scales_at_end = kConfig.scale_class == ScaleClass::g64_plus && params_.k_groups == 1;
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      CUBIND_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned g = thread_ % kWarpLanes / 4;
        const unsigned panel_row = first_row + b * kWgmmaRows + thread_ / kWarpLanes * kUnitRows;
        const unsigned row = panel_row + half * 8 + g;
        scale[b][half] = folds_scales(kConfig) ? FoldedInt4::kFactor : 1.0f;
        bias[b][half] = 0.0f;
        if (row >= params_.n) continue;
        if (scales_at_end) {
          scale[b][half] *= Float::low(
              ptx::ld_global_nc_u16(static_cast<const char*>(params_.scales) +
                                    static_cast<u64>(panel_row / kUnitRows) * kGroupScaleBytes + (g * 2 + half) * 2));
        }
        if (params_.bias != nullptr) {
          bias[b][half] = Float::low(ptx::ld_global_nc_u16(static_cast<const char*>(params_.bias) + row * 2));
        }
      }
    }
  }

  CUBIND_DEVICE void write_slab(const float (&sums)[kBlocks][kSums], const float (&scale)[kBlocks][2],
                                const float (&bias)[kBlocks][2], unsigned slab, unsigned buffer) const {
    const unsigned lane = thread_ % kWarpLanes, warp = thread_ / kWarpLanes, matrix = lane / 8;
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      unsigned pairs[4];  // rows g, g + 8 of the first 8 tokens, then of the others
      CUBIND_UNROLL
      for (unsigned j = 0; j < 4; ++j) {
        const unsigned i = slab * (kSlabTokens / 2) + j * 2, half = j % 2;
        pairs[j] =
            Float::pack(sums[b][i] * scale[b][half] + bias[b][half], sums[b][i + 1] * scale[b][half] + bias[b][half]);
      }
      const unsigned token = matrix / 2 * 8 + lane % 8, row = b * kWgmmaRows + warp * kUnitRows + matrix % 2 * 8;
      ptx::stmatrix_x4_trans(buffer + token * kSmem.staging_row + row * 2, pairs);
    }
  }

  CUBIND_DEVICE void store_slab(unsigned buffer, unsigned first_token, unsigned first_row) const {
    const bool aligned =
        params_.n % 8 == 0 && params_.ldo % 8 == 0 && reinterpret_cast<u64>(params_.out) % kChunkBytes == 0;
    const unsigned column = thread_ % kColumns, row = first_row + column * 8;
    CUBIND_UNROLL
    for (unsigned first = 0; first < kSlabTokens; first += kWarpGroupThreads / kColumns) {
      const unsigned token = first + thread_ / kColumns;
      if (first_token + token >= params_.m || row >= params_.n) continue;
      unsigned run[4];
      ptx::ld_shared_v4_u32(run, buffer + token * kSmem.staging_row + column * kChunkBytes);
      char* to = static_cast<char*>(params_.out) + (static_cast<u64>(first_token + token) * params_.ldo + row) * 2;
      if (aligned) {
        ptx::st_global_v4_u32(to, run);
      } else {
        CUBIND_UNROLL
        for (unsigned e = 0; e < 8; ++e) {
          if (row + e < params_.n) ptx::st_global_u16(to + e * 2, run[e / 2] >> (e % 2 * 16) & 0xffffu);
        }
      }
    }
  }

  const GemmParams& params_;
  unsigned row_group_, thread_, staging_, barrier_;
  unsigned buffer_ = 0;
};

}  // namespace cubind
