// Host twin of codegen/device/ptx/cp_async.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void cp_async_cg_16(unsigned shared, const void* global, unsigned source_bytes) {
  emulator::Machine::current().copy_start(shared, global, source_bytes);
}
inline void cp_async_commit_group() {
  emulator::Machine::current().copy_commit();
}
template <unsigned kPending>
void cp_async_wait_group() {
  emulator::Machine::current().copy_wait(kPending);
}

}  // namespace cubind::ptx
