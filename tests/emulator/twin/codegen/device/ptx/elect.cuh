// Host twin of codegen/device/ptx/elect.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/warp_instructions.hpp"

namespace cubind::ptx {

inline bool elect_sync() {
  bool elected = false;
  emulator::Machine::current().warp_instruction(emulator::elect, &elected);
  return elected;
}

}  // namespace cubind::ptx
