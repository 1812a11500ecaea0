// atom.global on a counter that blocks share.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

// Returns the old value; the new one is old + 1, or 0 if old has reached `last`. Releases what this thread knows of,
// and acquires what earlier arrivals released.
CUBIND_DEVICE unsigned atom_acq_rel_gpu_inc_u32(void* address, unsigned last) {
  unsigned old;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(last) : "memory");
  return old;
}

}  // namespace cubind::ptx
