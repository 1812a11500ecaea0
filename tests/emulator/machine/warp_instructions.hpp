// What a warp's instructions do, from the PTX ISA's fragment layouts. Each takes the 32 lanes' operands at once.
#pragma once

#include "tests/emulator/machine/machine.hpp"
#include "tests/emulator/machine/wgmma.hpp"

namespace cubind::emulator {

struct LdmatrixArguments {
  unsigned* value;  // [4]
  unsigned address;
};
void ldmatrix_x4(WarpLanes& lanes, void* const (&arguments)[32]);

struct StmatrixArguments {
  const unsigned* value;  // [4]
  unsigned address;
};
void stmatrix_x4_trans(WarpLanes& lanes, void* const (&arguments)[32]);

struct MmaArguments {
  float* d;           // [4]
  const unsigned* a;  // [4]; [2] for m16n8k8
  unsigned b[2];      // [1] for m16n8k8
};
void mma_m16n8k16_f16(WarpLanes& lanes, void* const (&arguments)[32]);
void mma_m16n8k16_bf16(WarpLanes& lanes, void* const (&arguments)[32]);
void mma_m16n8k8_f16(WarpLanes& lanes, void* const (&arguments)[32]);

struct ShflArguments {
  unsigned value, lane;
};
void shfl_idx(WarpLanes& lanes, void* const (&arguments)[32]);

void elect(WarpLanes& lanes, void* const (&arguments)[32]);  // arguments: bool

void wgmma_fence(WarpLanes& lanes, void* const (&arguments)[32]);
void wgmma_issue(WarpLanes& lanes, void* const (&arguments)[32]);  // WgmmaArguments
void wgmma_commit(WarpLanes& lanes, void* const (&arguments)[32]);
void wgmma_wait(WarpLanes& lanes, void* const (&arguments)[32]);  // how many groups may stay: unsigned

}  // namespace cubind::emulator
