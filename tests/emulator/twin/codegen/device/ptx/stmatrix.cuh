// Host twin of codegen/device/ptx/stmatrix.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/warp_instructions.hpp"

namespace cubind::ptx {

inline void stmatrix_x4_trans(unsigned address, const unsigned (&value)[4]) {
  emulator::StmatrixArguments arguments{value, address};
  emulator::Machine::current().warp_instruction(emulator::stmatrix_x4_trans, &arguments);
}

}  // namespace cubind::ptx
