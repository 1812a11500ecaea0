// The scales of rows g and g + 8 over one group of k, applied in one of three places:
//
//   to weights   4 multiplications of pairs for each 16 x 16 fragment, whatever the number of tokens; the products are
//                rounded to 16 bits.
//   to sums      the group's MMAs add up unscaled weights, exactly; then 4 f32 fma for each 8 tokens. Cheaper if a warp
//                has few tokens: per 64 k, 16 against 4 for each 8 tokens.
//   at the end   where it would be weights but a row has one scale for all of k (per channel): the main loop takes 1
//                for it, the weights add up exactly, and epilogue/output.cuh multiplies. A run-time choice, as the
//                group's size is. Otherwise a row's 16 possible products would be rounded alike all along k, which
//                adds up to a wrong gain.
//
// The first two take in kFactor, by which the dequantizer divides.
#pragma once

#include "codegen/device/config.cuh"
#include "codegen/device/ptx/prmt.cuh"
#include "codegen/device/tile/number.cuh"
#include "protocol/kernel_abi.hpp"

namespace cubind {

// Scaling a group's sums costs 4 instructions for each 8 tokens, scaling its weights 4 for each step of 16 k.
constexpr CUBIND_HD bool scales_sums(const GemmConfig& config) {
  const unsigned group_steps = config.scale_class == ScaleClass::g32 ? 2 : 4;
  return config.warp_tokens() / 8 <= group_steps / 2;
}

// Only where it makes the weights exact: sums are scaled exactly anyway.
template <GemmConfig kConfig>
CUBIND_DEVICE bool scales_at_end(const GemmParams& params) {
  if constexpr (scales_sums(kConfig) || kConfig.scale_class != ScaleClass::g64_plus) return false;
  return params.k_groups == 1;
}

template <DType kType, bool kOnSums>
struct RowScales;

template <DType kType>
struct RowScales<kType, false> {
  unsigned row_g, row_g8;  // pairs of equal halves

  // pair: low half row g, high half row g + 8, as they lie in GemmParams::scales.
  template <unsigned kFactor>
  static CUBIND_DEVICE RowScales from_pair(unsigned pair) {
    static_assert(kFactor == 1 || (kFactor == 64 && kType == DType::bf16));
    constexpr unsigned kBf16Of64 = 0x42804280u;
    if constexpr (kFactor != 1) pair = Number<kType>::fma2(pair, kBf16Of64, Number<kType>::kMinusZero2);
    return {ptx::prmt<0x1010>(pair, 0), ptx::prmt<0x3232>(pair, 0)};
  }

  CUBIND_DEVICE void scale_fragment(unsigned (&a)[4]) const {
    using F = Number<kType>;
    a[0] = F::fma2(a[0], row_g, F::kMinusZero2);
    a[1] = F::fma2(a[1], row_g8, F::kMinusZero2);
    a[2] = F::fma2(a[2], row_g, F::kMinusZero2);
    a[3] = F::fma2(a[3], row_g8, F::kMinusZero2);
  }
};

template <DType kType>
struct RowScales<kType, true> {
  float row_g, row_g8;

  template <unsigned kFactor>
  static CUBIND_DEVICE RowScales from_pair(unsigned pair) {
    constexpr float kTimes = kFactor;
    return {Number<kType>::low(pair) * kTimes, Number<kType>::high(pair) * kTimes};
  }

  CUBIND_DEVICE void add_scaled(float (&accumulator)[4], const float (&group_sum)[4]) const {
    accumulator[0] += row_g * group_sum[0];
    accumulator[1] += row_g * group_sum[1];
    accumulator[2] += row_g8 * group_sum[2];
    accumulator[3] += row_g8 * group_sum[3];
  }
};

}  // namespace cubind
