// Host twin of codegen/device/ptx/griddepcontrol.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void griddepcontrol_wait() {
  emulator::Machine::current().grid_dependency_wait();
}
inline void griddepcontrol_launch_dependents() {}

}  // namespace cubind::ptx
