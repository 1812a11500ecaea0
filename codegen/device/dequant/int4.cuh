// Four-bit integers, unsigned as stored, to the A fragment of an MMA: value (q - z) / kFactor of the activation type,
// exactly. One packed word (tile/packed_weights.cuh) holds the fragment's four registers: nibbles 0 and 4 are register
// 0, nibbles 1 and 5 register 1, and so on, so that one mask takes out both halves of a register. Registers 0 and 2
// belong to row g, registers 1 and 3 to row g + 8; after one shift by 8 for registers 2 and 3, row g is always the low
// nibble of a byte and row g + 8 the high one. 1 shift, 4 masks, 4 fma for eight weights, in both types:
//
//   f16    0x6400 | q is 1024 + q and 0x6400 | q << 4 is 1024 + 16 q; the fma takes off the 1024 (and divides by 16).
//   bf16   only 7 bits of mantissa: 16 q would not fit beside an implicit one. But as bits of a subnormal q is
//          q * 2^-133 and q << 4 is q * 2^-129 (the first binade continues the subnormals' scale); times 2^127 and
//          2^123 both are q * 2^-6. Hence kFactor 64, which the scales take in.
//
// Offsets are the fma's third operand, minus the zero point in the fragment's units: of row g (low nibbles) and row g +
// 8 (high nibbles), both halves alike.
#pragma once

#include "codegen/device/config.cuh"
#include "codegen/device/ptx/prmt.cuh"
#include "codegen/device/tile/number.cuh"

namespace cubind {

struct Int4Offsets {
  unsigned row_g;
  unsigned row_g8;
};

template <DType kType>
struct Int4;

template <>
struct Int4<DType::f16> {
  static constexpr unsigned kFactor = 1;

  // q is stored as value + 8: -(1024 + 8) and -(64 + 8).
  static CUBIND_DEVICE Int4Offsets symmetric() { return {0xe408e408u, 0xd480d480u}; }

  // zeros: byte 0 is row g's, byte 1 row g + 8's, at most 63. -(1024 + z): one unit of the last place is 1; -(64 + z):
  // it is 1 / 16.
  static CUBIND_DEVICE Int4Offsets from_zeros(unsigned zeros) {
    return {0xe400e400u | ptx::prmt<0x4040>(zeros, 0), 0xd400d400u | ptx::prmt<0x4141>(zeros, 0) << 4};
  }

  static CUBIND_DEVICE void dequantize(unsigned (&a)[4], unsigned word, Int4Offsets offsets) {
    using F = Number<DType::f16>;
    const unsigned next = word >> 8;
    constexpr unsigned kOne = 0x3c003c00u, kSixteenth = 0x2c002c00u, k1024 = 0x64006400u;
    a[0] = F::fma2((word & 0x000f000fu) | k1024, kOne, offsets.row_g);
    a[1] = F::fma2((word & 0x00f000f0u) | k1024, kSixteenth, offsets.row_g8);
    a[2] = F::fma2((next & 0x000f000fu) | k1024, kOne, offsets.row_g);
    a[3] = F::fma2((next & 0x00f000f0u) | k1024, kSixteenth, offsets.row_g8);
  }
};

template <>
struct Int4<DType::bf16> {
  static constexpr unsigned kFactor = 64;

  // q is stored as value + 8: -8 / 64.
  static CUBIND_DEVICE Int4Offsets symmetric() { return {0xbe00be00u, 0xbe00be00u}; }

  // zeros: byte 0 is row g's, byte 1 row g + 8's: z * 2^-133 times -2^127.
  static CUBIND_DEVICE Int4Offsets from_zeros(unsigned zeros) {
    using F = Number<DType::bf16>;
    constexpr unsigned kMinus2To127 = 0xff00ff00u;
    return {F::fma2(ptx::prmt<0x4040>(zeros, 0), kMinus2To127, F::kMinusZero2),
            F::fma2(ptx::prmt<0x4141>(zeros, 0), kMinus2To127, F::kMinusZero2)};
  }

  static CUBIND_DEVICE void dequantize(unsigned (&a)[4], unsigned word, Int4Offsets offsets) {
    using F = Number<DType::bf16>;
    const unsigned next = word >> 8;
    constexpr unsigned k2To127 = 0x7f007f00u, k2To123 = 0x7d007d00u;
    a[0] = F::fma2(word & 0x000f000fu, k2To127, offsets.row_g);
    a[1] = F::fma2(word & 0x00f000f0u, k2To123, offsets.row_g8);
    a[2] = F::fma2(next & 0x000f000fu, k2To127, offsets.row_g);
    a[3] = F::fma2(next & 0x00f000f0u, k2To123, offsets.row_g8);
  }
};

// bf16 without zero points: the scale can ride in the same fma, (q - 8) * s / kFactor rounded once, which is what
// scaling afterwards gives too. Needs -8 * s as a bf16, so not with zero points; in f16, q * s as a subnormal would
// lose bits.
constexpr CUBIND_HD bool folds_scales(const GemmConfig& config) {
  return config.activation == DType::bf16 && !config.zero_points;
}

// Scales of rows g and g + 8, both halves alike, below 2^19: times 2^109 and 2^105, for q * 2^-133 and q * 2^-129; and
// what takes off the 8.
struct FoldedInt4 {
  static constexpr float kFactor = 16777216.0f;  // 2^24
  unsigned times_g, times_g8, plus_g, plus_g8;

  static CUBIND_DEVICE FoldedInt4 from_pair(unsigned pair) {
    using F = Number<DType::bf16>;
    pair = F::fma2(pair, 0x74007600u, F::kMinusZero2);  // 2^109 and 2^105
    // -8 as subnormals: -8 * 2^-133, -8 * 2^-129.
    const unsigned g = ptx::prmt<0x1010>(pair, 0), g8 = ptx::prmt<0x3232>(pair, 0);
    return {g, g8, F::fma2(g, 0x80088008u, F::kMinusZero2), F::fma2(g8, 0x80808080u, F::kMinusZero2)};
  }

  CUBIND_DEVICE void dequantize(unsigned (&a)[4], unsigned word) const {
    using F = Number<DType::bf16>;
    const unsigned next = word >> 8;
    a[0] = F::fma2(word & 0x000f000fu, times_g, plus_g);
    a[1] = F::fma2(word & 0x00f000f0u, times_g8, plus_g8);
    a[2] = F::fma2(next & 0x000f000fu, times_g, plus_g);
    a[3] = F::fma2(next & 0x00f000f0u, times_g8, plus_g8);
  }
};

}  // namespace cubind
