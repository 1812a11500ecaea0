// The repack of repack.hpp on the GPU, bit for bit: what one packed word, and one scale with its zero point, are made
// of. Seen by g++ (unit tests run every thread of it on the CPU against repack.hpp), and by NVRTC once, for the PTX in
// repack_ptx.cpp; so no includes. Nothing here needs more than sm_75, and nothing is shared between threads.
#pragma once

#if defined(__CUDACC_RTC__)
#define CUBIND_REPACK_FUNCTION __device__
#define CUBIND_REPACK_ROLLED _Pragma("unroll 1")  // the reading is the work, and the PTX travels in a library
#else
#define CUBIND_REPACK_FUNCTION inline
#define CUBIND_REPACK_ROLLED
#endif

namespace cubind::repack {

// What `*fault` receives, one or both: the CPU's errors without their position.
enum : unsigned {
  kFaultScale = 1,     // a scale that is not finite, or too large for the layout's type
  kFaultZeroPoint = 2  // a symmetric layer's zero point that is not 8
};

struct Params {
  const unsigned* qweight;
  const unsigned* qzeros;        // or null: zero points are 8
  const unsigned short* scales;  // [k_groups][n]
  const int* k_order;            // [k]: which k of the checkpoint is packed here; null: its own
  unsigned* weights;
  unsigned short* packed_scales;
  unsigned char* packed_zeros;  // null for symmetric weights
  unsigned* fault;
  unsigned n, k, n_tiles, k_tiles, k_groups;
  unsigned awq;          // 1: AWQ, 0: GPTQ
  unsigned stored_less;  // added to a word of zero points
  unsigned scales_bf16;  // of the given scales; 0: f16
  unsigned packed_bf16;  // of the packed ones
};

// Nibble of column c (of 8 that share a word) in AWQ's order.
CUBIND_REPACK_FUNCTION unsigned awq_nibble(unsigned column) {
  return column / 2 + 4 * (column % 2);
}

CUBIND_REPACK_FUNCTION unsigned zero_point(const Params& p, unsigned row, unsigned group) {
  if (p.qzeros == nullptr) return 8;
  const unsigned word = p.qzeros[static_cast<unsigned long long>(group) * (p.n / 8) + row / 8] + p.stored_less;
  return word >> (4 * (p.awq ? awq_nibble(row % 8) : row % 8)) & 15;
}

CUBIND_REPACK_FUNCTION unsigned quantized(const Params& p, unsigned row, unsigned column) {
  const unsigned source = p.k_order == nullptr ? column : static_cast<unsigned>(p.k_order[column]);
  if (p.awq) {
    return p.qweight[static_cast<unsigned long long>(source) * (p.n / 8) + row / 8] >> (4 * awq_nibble(row % 8)) & 15;
  }
  return p.qweight[static_cast<unsigned long long>(source / 8) * p.n + row] >> (4 * (source % 8)) & 15;
}

// Word `step` of lane 4 g + t of the unit (n_tile, k_tile): docs/layouts.md.
CUBIND_REPACK_FUNCTION unsigned packed_word(const Params& p, unsigned n_tile, unsigned k_tile, unsigned lane,
                                            unsigned step) {
  unsigned word = 0;
  CUBIND_REPACK_ROLLED
  for (unsigned nibble = 0; nibble < 8; ++nibble) {
    const unsigned j = nibble % 4, half = nibble / 4;
    const unsigned row = n_tile * 16 + lane / 4 + 8 * (j % 2);
    const unsigned column = k_tile * 64 + 16 * step + 8 * (j / 2) + 2 * (lane % 4) + half;
    unsigned q = 8;  // of padding: the value is zero
    if (row < p.n && column < p.k) {
      q = quantized(p, row, column);
    } else if (p.packed_zeros != nullptr) {
      q = row < p.n ? zero_point(p, row, p.k_groups - 1) : 0;
    }
    word |= q << (4 * nibble);
  }
  return word;
}

CUBIND_REPACK_FUNCTION bool finite(unsigned bits, bool bf16) {
  const unsigned infinity = bf16 ? 0x7f80u : 0x7c00u;
  return (bits & 0x7fffu) < infinity;
}

// Rounded to nearest even. Preconditions: finite; the result may be infinite.
CUBIND_REPACK_FUNCTION unsigned f16_to_bf16(unsigned bits) {
  const unsigned sign = bits & 0x8000u;
  unsigned exponent = bits >> 10 & 31, mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    if (mantissa == 0) return sign;
    exponent = 1;
    while ((mantissa & 0x400u) == 0) {  // a subnormal is a normal number there
      mantissa <<= 1;
      --exponent;  // below 0, in arithmetic modulo 2^32
    }
    mantissa &= 0x3ffu;
  }
  const unsigned exact = (exponent + 112) << 10 | mantissa;  // 8 bits of exponent, 10 of mantissa
  return sign | ((exact + 3 + (exact >> 3 & 1)) >> 3);
}

CUBIND_REPACK_FUNCTION unsigned bf16_to_f16(unsigned bits) {
  const unsigned sign = bits & 0x8000u, exponent = bits >> 7 & 255, mantissa = bits & 0x7fu;
  if (exponent >= 143) return sign | 0x7c00u;                                 // 65536 and more
  if (exponent >= 113) return sign | (exponent - 112) << 10 | mantissa << 3;  // exact
  if (exponent < 101) return sign;                                            // below half of the smallest
  const unsigned significand = mantissa | 0x80u;  // in units of the smallest subnormal: times 2^(exponent - 110)
  if (exponent >= 110) return sign | significand << (exponent - 110);
  const unsigned shift = 110 - exponent;
  return sign | ((significand + (1u << (shift - 1)) - 1 + (significand >> shift & 1)) >> shift);
}

// Scale and zero point number `item` in the packed order [n tile][group][g][row g, row g + 8].
CUBIND_REPACK_FUNCTION void pack_group_entry(const Params& p, unsigned long long item) {
  const unsigned pair = static_cast<unsigned>(item % 16);
  const unsigned group = static_cast<unsigned>(item / 16 % p.k_groups);
  const unsigned row = static_cast<unsigned>(item / 16 / p.k_groups) * 16 + pair / 2 + 8 * (pair % 2);
  unsigned bits = 0, zero = 0;
  if (row < p.n) {
    bits = p.scales[static_cast<unsigned long long>(group) * p.n + row];
    bool good = finite(bits, p.scales_bf16 != 0);
    if (good && p.scales_bf16 != p.packed_bf16) {
      bits = p.packed_bf16 ? f16_to_bf16(bits) : bf16_to_f16(bits);
      good = finite(bits, p.packed_bf16 != 0);
    }
    if (!good) *p.fault |= kFaultScale;  // threads race for the word: it ends as something they found, never as 0
    zero = zero_point(p, row, group);
    if (p.packed_zeros == nullptr && zero != 8) *p.fault |= kFaultZeroPoint;
  }
  p.packed_scales[item] = static_cast<unsigned short>(bits);
  if (p.packed_zeros != nullptr) p.packed_zeros[item] = static_cast<unsigned char>(zero);
}

}  // namespace cubind::repack

#if defined(__CUDACC_RTC__)
// A warp a unit of 16 x 64, neighbouring warps neighbouring n: a checkpoint's words of one k lie side by side.
extern "C" __global__ void cubind_repack(const cubind::repack::Params p) {
  const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  const unsigned long long thread = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned long long lanes = static_cast<unsigned long long>(p.n_tiles) * p.k_tiles * 32;
  for (unsigned long long item = thread; item < lanes; item += threads) {
    const unsigned lane = static_cast<unsigned>(item % 32);
    const unsigned n_tile = static_cast<unsigned>(item / 32 % p.n_tiles);
    const unsigned k_tile = static_cast<unsigned>(item / 32 / p.n_tiles);
    const unsigned long long unit = static_cast<unsigned long long>(n_tile) * p.k_tiles + k_tile;
    CUBIND_REPACK_ROLLED
    for (unsigned step = 0; step < 4; ++step) {
      p.weights[unit * 128 + lane * 4 + step] = cubind::repack::packed_word(p, n_tile, k_tile, lane, step);
    }
  }
  const unsigned long long entries = static_cast<unsigned long long>(p.n_tiles) * p.k_groups * 16;
  for (unsigned long long item = thread; item < entries; item += threads) cubind::repack::pack_group_entry(p, item);
}
#endif
