// cvt between f32 and 16-bit floats, round to nearest even. Pairs: `low` in bits 0..15. And mov between registers of
// f32 and of bits.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE float float_of_bits(unsigned bits) {
  return __uint_as_float(bits);
}
CUBIND_DEVICE float cvt_f32_f16(unsigned value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(static_cast<unsigned short>(value)));
  return result;
}
CUBIND_DEVICE unsigned cvt_rn_f16_f32(float value) {
  unsigned short result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
}
// sm_80
CUBIND_DEVICE unsigned cvt_rn_bf16x2_f32(float low, float high) {
  unsigned result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

}  // namespace cubind::ptx
