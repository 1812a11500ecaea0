// The sums of a block's tile, out of the warps' accumulators and turned round: an accumulator fragment has tokens along
// its columns, the output has features along its rows. Shared memory holds [warps_k][tile_m][tile_n + kSumPad] f32; a
// thread then takes eight features of a token at a time and adds the warps along k in their order.
//
// Barriers: the caller has one before write_sums (the main loop's stages lie in the same memory) and one after it.
#pragma once

#include "codegen/device/mainloop/warp_tile.cuh"

namespace cubind {

inline constexpr unsigned kPieceRows = 8;  // features that a thread takes at a time: 16 bytes of output

// Which pieces of the tile a thread takes: one column of pieces, tokens first_token(tid), + kTokenStep, ...
template <GemmConfig kConfig>
struct PieceMap {
  static constexpr unsigned kColumns = kConfig.tile_n / kPieceRows;
  static constexpr unsigned kTokenStep = kConfig.threads() / kColumns;
  static CUBIND_DEVICE unsigned first_row(unsigned tid) { return tid % kColumns * kPieceRows; }
  static CUBIND_DEVICE unsigned first_token(unsigned tid) { return tid / kColumns; }
};

template <GemmConfig kConfig>
CUBIND_DEVICE void write_sums(const WarpTile<kConfig>& warp_tile, unsigned sums) {
  constexpr SmemLayout kSmem = smem_layout(kConfig);
  warp_tile.visit_sums([sums](unsigned warp_k, unsigned token, unsigned row, float value) {
    ptx::st_shared_f32(sums + ((warp_k * kConfig.tile_m + token) * kSmem.sum_row + row) * 4, value);
  });
}

template <GemmConfig kConfig>
CUBIND_DEVICE void read_sums(float (&piece)[kPieceRows], unsigned sums, unsigned token, unsigned first_row) {
  constexpr SmemLayout kSmem = smem_layout(kConfig);
  CUBIND_UNROLL
  for (unsigned half = 0; half < 2; ++half) {
    float total[4] = {};
    CUBIND_UNROLL
    for (unsigned warp_k = 0; warp_k < kConfig.warps_k; ++warp_k) {
      float part[4];
      ptx::ld_shared_v4_f32(part,
                            sums + ((warp_k * kConfig.tile_m + token) * kSmem.sum_row + first_row + half * 4) * 4);
      CUBIND_UNROLL
      for (unsigned e = 0; e < 4; ++e) total[e] = warp_k == 0 ? part[e] : total[e] + part[e];
    }
    CUBIND_UNROLL
    for (unsigned e = 0; e < 4; ++e) piece[half * 4 + e] = total[e];
  }
}

}  // namespace cubind
