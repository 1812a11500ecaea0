// setmaxnreg: a warp group (four warps, the first one's number divisible by 4) gives registers back to the block's
// pool, or waits for that many (sm_90a). kRegisters: of a thread, 24 to 256 in steps of 8. All warps of the group must
// execute the same one, and the kernel must be compiled for a fixed number of threads (__launch_bounds__).
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

template <unsigned kRegisters>
CUBIND_DEVICE void setmaxnreg_inc() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <unsigned kRegisters>
CUBIND_DEVICE void setmaxnreg_dec() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace cubind::ptx
