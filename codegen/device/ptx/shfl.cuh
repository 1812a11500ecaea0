// shfl.sync.idx: every lane gets the value of one of them. The compiler knows then that the warp's lanes agree, and
// keeps what follows from it in uniform registers.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE unsigned shfl_idx(unsigned value, unsigned lane) {
  unsigned result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(result) : "r"(value), "r"(lane));
  return result;
}

}  // namespace cubind::ptx
