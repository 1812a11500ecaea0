// Host twin of codegen/device/ptx/bar.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void bar_sync() {
  emulator::Machine::current().block_barrier();
}
inline void bar_sync(unsigned id, unsigned threads) {
  emulator::Machine::current().named_barrier(id, threads, true);
}
inline void bar_arrive(unsigned id, unsigned threads) {
  emulator::Machine::current().named_barrier(id, threads, false);
}
inline void bar_warp_sync() {
  emulator::Machine::current().warp_barrier();
}

}  // namespace cubind::ptx
