// The last step: per-channel scales (dequant/scales.cuh), bias, conversion, store. Eight features of a token at a time
// as one 16-byte store where all rows of the output are aligned for it, element by element otherwise; rows from n on
// and tokens from m on are not stored.
#pragma once

#include "codegen/device/dequant/scales.cuh"
#include "codegen/device/epilogue/block_sums.cuh"
#include "codegen/device/ptx/global_memory.cuh"
#include "codegen/device/tile/packed_weights.cuh"
#include "protocol/kernel_abi.hpp"

namespace cubind {

template <GemmConfig kConfig>
class Output {
 public:
  // first_row: of the eight features, counted from the whole output's start.
  CUBIND_DEVICE Output(const GemmParams& params, unsigned first_row)
      : out_(static_cast<char*>(params.out) + static_cast<u64>(first_row) * 2),
        ldo_(params.ldo),
        rows_(params.n > first_row ? params.n - first_row : 0),
        aligned_(params.n % kPieceRows == 0 && params.ldo % kPieceRows == 0 &&
                 reinterpret_cast<u64>(params.out) % kChunkBytes == 0) {
    static_assert(kPieceRows == 8);  // rows first_row + e are one half of the eight pairs of a 16-row panel
    const char* scales = static_cast<const char*>(params.scales) +
                         static_cast<u64>(first_row / kUnitRows) * kGroupScaleBytes + first_row % kUnitRows / 8 * 2;
    const bool scale = scales_at_end<kConfig>(params);
    CUBIND_UNROLL
    for (unsigned e = 0; e < kPieceRows; ++e) {
      scale_[e] = scale && e < rows_ ? Float::low(ptx::ld_global_nc_u16(scales + e * 4)) : 1.0f;
      bias_[e] = params.bias != nullptr && e < rows_
                     ? Float::low(ptx::ld_global_nc_u16(static_cast<const char*>(params.bias) + (first_row + e) * 2))
                     : 0.0f;
    }
  }

  // token: below m, counted from the whole output's start.
  CUBIND_DEVICE void store(const float (&piece)[kPieceRows], unsigned token) const {
    unsigned pairs[kPieceRows / 2];
    CUBIND_UNROLL
    for (unsigned i = 0; i < kPieceRows / 2; ++i) {
      pairs[i] = Float::pack(piece[2 * i] * scale_[2 * i] + bias_[2 * i],
                             piece[2 * i + 1] * scale_[2 * i + 1] + bias_[2 * i + 1]);
    }
    char* place = out_ + static_cast<u64>(token) * ldo_ * 2;
    if (aligned_) {
      if (rows_ != 0) ptx::st_global_v4_u32(place, pairs);
    } else {
      CUBIND_UNROLL
      for (unsigned e = 0; e < kPieceRows; ++e) {
        if (e < rows_) ptx::st_global_u16(place + e * 2, pairs[e / 2] >> (e % 2 * 16) & 0xffffu);
      }
    }
  }

 private:
  using Float = Number<kConfig.activation>;

  char* out_;
  unsigned ldo_, rows_;
  bool aligned_;
  float scale_[kPieceRows], bias_[kPieceRows];
};

}  // namespace cubind
