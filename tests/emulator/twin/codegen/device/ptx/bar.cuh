// Host twin of codegen/device/ptx/bar.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void bar_sync() {
  emulator::Machine::current().block_barrier();
}

}  // namespace cubind::ptx
