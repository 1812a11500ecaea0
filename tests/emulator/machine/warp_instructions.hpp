// What a warp's instructions do, from the PTX ISA's fragment layouts. Each takes the 32 lanes' operands at once.
#pragma once

#include "tests/emulator/machine/machine.hpp"

namespace cubind::emulator {

struct LdmatrixArguments {
  unsigned* value;  // [4]
  unsigned address;
};
void ldmatrix_x4(SharedMemory& shared, unsigned first_thread, void* const (&arguments)[32]);

struct MmaArguments {
  float* d;           // [4]
  const unsigned* a;  // [4]; [2] for m16n8k8
  unsigned b[2];      // [1] for m16n8k8
};
void mma_m16n8k16_f16(SharedMemory& shared, unsigned first_thread, void* const (&arguments)[32]);
void mma_m16n8k16_bf16(SharedMemory& shared, unsigned first_thread, void* const (&arguments)[32]);
void mma_m16n8k8_f16(SharedMemory& shared, unsigned first_thread, void* const (&arguments)[32]);

}  // namespace cubind::emulator
