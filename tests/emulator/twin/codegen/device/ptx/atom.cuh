// Host twin of codegen/device/ptx/atom.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

// Atomic because the emulated threads take turns only where they wait.
inline unsigned atom_acq_rel_gpu_inc_u32(void* address, unsigned last) {
  emulator::Machine::current().global_access(address, 4, emulator::Access::atomic);
  unsigned& value = *static_cast<unsigned*>(address);
  const unsigned old = value;
  value = old >= last ? 0 : old + 1;
  return old;
}

}  // namespace cubind::ptx
