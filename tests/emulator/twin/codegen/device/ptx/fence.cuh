// Host twin of codegen/device/ptx/fence.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void fence_mbarrier_init() {
  emulator::Machine::current().fence_mbarrier_init();
}
inline void fence_proxy_async_shared_cta() {
  emulator::Machine::current().fence_proxy_async();
}
inline void fence_proxy_async() {
  emulator::Machine::current().fence_proxy_async();
}

}  // namespace cubind::ptx
