// Host twin of codegen/device/ptx/wgmma.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/warp_instructions.hpp"

namespace cubind::ptx {

inline void wgmma_fence() {
  emulator::Machine::current().warp_instruction(emulator::wgmma_fence, nullptr);
}
inline void wgmma_commit_group() {
  emulator::Machine::current().warp_instruction(emulator::wgmma_commit, nullptr);
}
template <unsigned kPending>
void wgmma_wait_group() {
  unsigned pending = kPending;
  emulator::Machine::current().warp_instruction(emulator::wgmma_wait, &pending);
}

template <unsigned kCount>
void wgmma_hold(float (&)[kCount]) {}
template <unsigned kCount>
void wgmma_hold(unsigned (&)[kCount]) {}

constexpr bool wgmma_has(unsigned accumulators) {
  const unsigned n = 2 * accumulators;
  return n == 8 || n == 16 || n == 24 || n == 32 || n == 48 || n == 64 || n == 96 || n == 128 || n == 192 || n == 256;
}

// The machine keeps the addresses of d and a until the wait.
template <unsigned kCount>
void wgmma_m64k16_f16(float (&d)[kCount], const unsigned (&a)[4], u64 b, bool accumulate = true) {
  static_assert(wgmma_has(kCount));
  emulator::WgmmaArguments arguments{d, a, b, kCount, false, accumulate};
  emulator::Machine::current().warp_instruction(emulator::wgmma_issue, &arguments);
}
template <unsigned kCount>
void wgmma_m64k16_bf16(float (&d)[kCount], const unsigned (&a)[4], u64 b, bool accumulate = true) {
  static_assert(wgmma_has(kCount));
  emulator::WgmmaArguments arguments{d, a, b, kCount, true, accumulate};
  emulator::Machine::current().warp_instruction(emulator::wgmma_issue, &arguments);
}

}  // namespace cubind::ptx
