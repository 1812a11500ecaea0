// Host twin of codegen/device/ptx/ldmatrix.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/warp_instructions.hpp"

namespace cubind::ptx {

inline void ldmatrix_x4(unsigned (&value)[4], unsigned address) {
  emulator::LdmatrixArguments arguments{value, address};
  emulator::Machine::current().warp_instruction(emulator::ldmatrix_x4, &arguments);
}

}  // namespace cubind::ptx
