// Host twin of codegen/device/ptx/setmaxnreg.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

template <unsigned kRegisters>
void setmaxnreg_inc() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  emulator::Machine::current().set_registers(kRegisters, true);
}
template <unsigned kRegisters>
void setmaxnreg_dec() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  emulator::Machine::current().set_registers(kRegisters, false);
}

}  // namespace cubind::ptx
