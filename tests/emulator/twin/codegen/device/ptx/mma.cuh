// Host twin of codegen/device/ptx/mma.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/warp_instructions.hpp"

namespace cubind::ptx {

inline void mma_m16n8k16_f16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  emulator::MmaArguments arguments{d, a, {b0, b1}};
  emulator::Machine::current().warp_instruction(emulator::mma_m16n8k16_f16, &arguments);
}
inline void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  emulator::MmaArguments arguments{d, a, {b0, b1}};
  emulator::Machine::current().warp_instruction(emulator::mma_m16n8k16_bf16, &arguments);
}
inline void mma_m16n8k8_f16(float (&d)[4], unsigned a0, unsigned a1, unsigned b0) {
  const unsigned a[2] = {a0, a1};
  emulator::MmaArguments arguments{d, a, {b0, 0}};
  emulator::Machine::current().warp_instruction(emulator::mma_m16n8k8_f16, &arguments);
}

}  // namespace cubind::ptx
