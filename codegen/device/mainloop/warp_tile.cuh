// What one warp computes: warp_rows weight rows x warp_tokens tokens, over its share of each stage's units of 64 k.
//
//   stage (shared)                         registers
//   weights   unit: 16 bytes a lane   ->   words [row tile][step]          ->  dequantize  ->  A fragment
//   scales, zeros of the unit         ->   RowScales, Int4Offsets [row tile]        (scaled, or the sums later)
//   activations, swizzled             ->   ldmatrix: B fragments [token tile] of 32 k
//
// No barriers here: the caller has made the stage visible, and keeps it until the next barrier.
#pragma once

#include "codegen/device/dequant/int4.cuh"
#include "codegen/device/dequant/scales.cuh"
#include "codegen/device/mainloop/mma_k16.cuh"
#include "codegen/device/ptx/ldmatrix.cuh"
#include "codegen/device/ptx/shared_memory.cuh"
#include "codegen/device/tile/number.cuh"
#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/device/tile/swizzle.cuh"

namespace cubind {

template <GemmConfig kConfig>
class WarpTile {
 public:
  static constexpr unsigned kRowTiles = kConfig.warp_rows() / kMmaRows;
  static constexpr unsigned kTokenTiles = kConfig.warp_tokens() / kMmaTokens;

  CUBIND_DEVICE WarpTile(const GemmParams& params, unsigned tid)
      : lane_(tid % kWarpLanes), scales_at_end_(scales_at_end<kConfig>(params)) {
    const unsigned warp = tid / kWarpLanes;
    warp_n_ = warp % kConfig.warps_n;
    warp_m_ = warp / kConfig.warps_n % kConfig.warps_m;
    warp_k_ = warp / (kConfig.warps_n * kConfig.warps_m);
    CUBIND_UNROLL
    for (unsigned r = 0; r < kRowTiles; ++r) {
      CUBIND_UNROLL
      for (unsigned t = 0; t < kTokenTiles; ++t) clear(accumulators_[r][t]);
    }
  }

  // Adds this warp's share of the stage to the accumulators.
  CUBIND_DEVICE void multiply(unsigned stage) {
    CUBIND_UNROLL
    for (unsigned i = 0; i < kUnits; ++i) multiply_unit(stage, warp_k_ * kUnits + i);
  }

  // visit(warp_k, token, row, value) for every accumulator; token and row count from the block's tile.
  template <class Visit>
  CUBIND_DEVICE void visit_sums(Visit visit) const {
    CUBIND_UNROLL
    for (unsigned r = 0; r < kRowTiles; ++r) {
      CUBIND_UNROLL
      for (unsigned t = 0; t < kTokenTiles; ++t) {
        CUBIND_UNROLL
        for (unsigned e = 0; e < 4; ++e) {
          const unsigned token = warp_m_ * kConfig.warp_tokens() + t * kMmaTokens + lane_ % 4 * 2 + e % 2;
          const unsigned row = warp_n_ * kConfig.warp_rows() + r * kMmaRows + lane_ / 4 + e / 2 * 8;
          visit(warp_k_, token, row, accumulators_[r][t][e]);
        }
      }
    }
  }

 private:
  static constexpr SmemLayout kSmem = smem_layout(kConfig);
  static constexpr unsigned kUnits = kSmem.units / kConfig.warps_k;
  static constexpr unsigned kRowBytes = kConfig.tile_k * 2;  // of an activation row in a stage
  static constexpr unsigned kGroupSteps = kUnitSteps / kSmem.groups;
  static constexpr bool kScaleSums = scales_sums(kConfig);
  // One ldmatrix fetches four 8 x 8 matrices: two steps of a token tile, or, where registers are scarce, one step of
  // two.
  static constexpr unsigned kLoadTiles = kConfig.accumulators() >= 96 && kTokenTiles % 2 == 0 ? 2 : 1;
  static constexpr unsigned kLoadSteps = 2 / kLoadTiles;
  using Dequant = Int4<kConfig.activation>;
  using Scales = RowScales<kConfig.activation, kScaleSums>;

  static CUBIND_DEVICE void clear(float (&sum)[4]) { sum[0] = sum[1] = sum[2] = sum[3] = 0.0f; }

  CUBIND_DEVICE void multiply_unit(unsigned stage, unsigned unit) {
    unsigned words[kRowTiles][kUnitSteps];
    CUBIND_UNROLL
    for (unsigned r = 0; r < kRowTiles; ++r) {
      const unsigned slot = (warp_n_ * kRowTiles + r) * kSmem.units + unit;
      ptx::ld_shared_v4_u32(words[r], stage + kSmem.weights + slot * unit_bytes(kConfig.weight_bits) + lane_ * 16);
    }
    CUBIND_UNROLL
    for (unsigned group = 0; group < kSmem.groups; ++group) multiply_group(stage, unit, group, words);
  }

  CUBIND_DEVICE void multiply_group(unsigned stage, unsigned unit, unsigned group,
                                    const unsigned (&words)[kRowTiles][kUnitSteps]) {
    Scales scales[kRowTiles];
    Int4Offsets offsets[kRowTiles];
    CUBIND_UNROLL
    for (unsigned r = 0; r < kRowTiles; ++r) {
      const unsigned slot = ((warp_n_ * kRowTiles + r) * kSmem.units + unit) * kSmem.groups + group;
      const unsigned g = lane_ / 4;
      const unsigned pair = ptx::ld_shared_u32(stage + kSmem.scales + slot * kGroupScaleBytes + g * 4);
      scales[r] =
          Scales::template from_pair<Dequant::kFactor>(scales_at_end_ ? Number<kConfig.activation>::kOne2 : pair);
      if constexpr (kConfig.zero_points) {
        offsets[r] = Dequant::from_zeros(ptx::ld_shared_u16(stage + kSmem.zeros + slot * kGroupZeroBytes + g * 2));
      } else {
        offsets[r] = Dequant::symmetric();
      }
    }

    if constexpr (kScaleSums) {
      float group_sums[kRowTiles][kTokenTiles][4];
      CUBIND_UNROLL
      for (unsigned r = 0; r < kRowTiles; ++r) {
        CUBIND_UNROLL
        for (unsigned t = 0; t < kTokenTiles; ++t) clear(group_sums[r][t]);
      }
      add_products(group_sums, stage, unit, group, words, scales, offsets);
      CUBIND_UNROLL
      for (unsigned r = 0; r < kRowTiles; ++r) {
        CUBIND_UNROLL
        for (unsigned t = 0; t < kTokenTiles; ++t) scales[r].add_scaled(accumulators_[r][t], group_sums[r][t]);
      }
    } else {
      add_products(accumulators_, stage, unit, group, words, scales, offsets);
    }
  }

  CUBIND_DEVICE void add_products(float (&sums)[kRowTiles][kTokenTiles][4], unsigned stage, unsigned unit,
                                  unsigned group, const unsigned (&words)[kRowTiles][kUnitSteps],
                                  const Scales (&scales)[kRowTiles], const Int4Offsets (&offsets)[kRowTiles]) {
    CUBIND_UNROLL
    for (unsigned i = 0; i < kGroupSteps; i += kLoadSteps) {
      const unsigned first_step = group * kGroupSteps + i;
      unsigned b[kTokenTiles / kLoadTiles][4];
      CUBIND_UNROLL
      for (unsigned t = 0; t < kTokenTiles; t += kLoadTiles) {
        load_activations(b[t / kLoadTiles], stage, t, unit, first_step);
      }
      CUBIND_UNROLL
      for (unsigned s = 0; s < kLoadSteps; ++s) {
        CUBIND_UNROLL
        for (unsigned r = 0; r < kRowTiles; ++r) {
          unsigned a[4];
          Dequant::dequantize(a, words[r][first_step + s], offsets[r]);
          if constexpr (!kScaleSums) scales[r].scale_fragment(a);
          CUBIND_UNROLL
          for (unsigned t = 0; t < kTokenTiles; ++t) {
            const unsigned(&pair)[4] = b[t / kLoadTiles];
            const unsigned first = 2 * (s + t % kLoadTiles);
            mma_k16<kConfig.activation, kConfig.mma>(sums[r][t], a, pair[first], pair[first + 1]);
          }
        }
      }
    }
  }

  // B fragments of kLoadTiles token tiles and kLoadSteps steps from the given ones on: four 8 x 8 matrices, those along
  // k first. Lane i names row i % 8 of matrix i / 8.
  CUBIND_DEVICE void load_activations(unsigned (&b)[4], unsigned stage, unsigned token_tile, unsigned unit,
                                      unsigned first_step) const {
    const unsigned matrix = lane_ / 8, tile = token_tile + matrix / (2 * kLoadSteps);
    const unsigned token = warp_m_ * kConfig.warp_tokens() + tile * kMmaTokens + lane_ % 8;
    const unsigned chunk = unit * (kUnitK / 8) + first_step * (kMmaK / 8) + matrix % (2 * kLoadSteps);
    ptx::ldmatrix_x4(b, stage + kSmem.activations + token * kRowBytes + swizzled_chunk(token, chunk) * kChunkBytes);
  }

  unsigned lane_, warp_n_, warp_m_, warp_k_;
  bool scales_at_end_;
  float accumulators_[kRowTiles][kTokenTiles][4];
};

}  // namespace cubind
