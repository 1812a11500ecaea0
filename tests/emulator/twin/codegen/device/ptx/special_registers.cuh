// Host twin of codegen/device/ptx/special_registers.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline unsigned tid_x() {
  return emulator::Machine::current().thread_index();
}
inline unsigned ctaid_x() {
  return emulator::Machine::current().block_index().x;
}
inline unsigned ctaid_y() {
  return emulator::Machine::current().block_index().y;
}
inline unsigned ctaid_z() {
  return emulator::Machine::current().block_index().z;
}
inline unsigned nctaid_x() {
  return emulator::Machine::current().grid().x;
}
inline unsigned nctaid_y() {
  return emulator::Machine::current().grid().y;
}

}  // namespace cubind::ptx
