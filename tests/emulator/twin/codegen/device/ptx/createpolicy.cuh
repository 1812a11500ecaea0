// Host twin of codegen/device/ptx/createpolicy.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline u64 createpolicy_evict_first() {
  return 1;
}
inline u64 createpolicy_evict_last() {
  return 2;
}

}  // namespace cubind::ptx
