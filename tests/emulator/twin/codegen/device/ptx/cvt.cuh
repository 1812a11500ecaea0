// Host twin of codegen/device/ptx/cvt.cuh: the same functions, on the emulated machine.
#pragma once

#include <bit>

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/pair_arithmetic.hpp"

namespace cubind::ptx {

inline float float_of_bits(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline float cvt_f32_f16(unsigned value) {
  return static_cast<float>(emulator::f16_to_double(value));
}
inline unsigned cvt_rn_f16_f32(float value) {
  return emulator::double_to_f16(value);
}
inline unsigned cvt_rn_bf16x2_f32(float low, float high) {
  return emulator::double_to_bf16(low) | emulator::double_to_bf16(high) << 16;
}

}  // namespace cubind::ptx
