// Host twin of codegen/device/ptx/fma.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/pair_arithmetic.hpp"

namespace cubind::ptx {

inline unsigned fma_rn_f16x2(unsigned a, unsigned b, unsigned c) {
  return emulator::fma_f16x2(a, b, c);
}
inline unsigned fma_rn_bf16x2(unsigned a, unsigned b, unsigned c) {
  return emulator::fma_bf16x2(a, b, c);
}

}  // namespace cubind::ptx
