// The two 16-bit float types as the kernels use them: in pairs, as bits.
#pragma once

#include "codegen/device/ptx/cvt.cuh"
#include "codegen/device/ptx/fma.cuh"
#include "protocol/dtype.hpp"

namespace cubind {

template <DType kType>
struct Number;

template <>
struct Number<DType::f16> {
  static constexpr unsigned kOne2 = 0x3c003c00u;
  static constexpr unsigned kMinusZero2 = 0x80008000u;
  static CUBIND_DEVICE unsigned fma2(unsigned a, unsigned b, unsigned c) { return ptx::fma_rn_f16x2(a, b, c); }
  static CUBIND_DEVICE float low(unsigned pair) { return ptx::cvt_f32_f16(pair & 0xffffu); }
  static CUBIND_DEVICE float high(unsigned pair) { return ptx::cvt_f32_f16(pair >> 16); }
  static CUBIND_DEVICE unsigned pack(float low, float high) {
    return ptx::cvt_rn_f16_f32(low) | ptx::cvt_rn_f16_f32(high) << 16;
  }
};

template <>
struct Number<DType::bf16> {
  static constexpr unsigned kOne2 = 0x3f803f80u;
  static constexpr unsigned kMinusZero2 = 0x80008000u;
  static CUBIND_DEVICE unsigned fma2(unsigned a, unsigned b, unsigned c) { return ptx::fma_rn_bf16x2(a, b, c); }
  static CUBIND_DEVICE float low(unsigned pair) { return ptx::float_of_bits(pair << 16); }
  static CUBIND_DEVICE float high(unsigned pair) { return ptx::float_of_bits(pair & 0xffff0000u); }
  static CUBIND_DEVICE unsigned pack(float low, float high) { return ptx::cvt_rn_bf16x2_f32(low, high); }
};

}  // namespace cubind
