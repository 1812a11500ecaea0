// Host twin of codegen/device/ptx/shfl.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/warp_instructions.hpp"

namespace cubind::ptx {

inline unsigned shfl_idx(unsigned value, unsigned lane) {
  emulator::ShflArguments arguments{value, lane};
  emulator::Machine::current().warp_instruction(emulator::shfl_idx, &arguments);
  return arguments.value;
}

}  // namespace cubind::ptx
