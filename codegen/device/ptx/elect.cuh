// elect.sync: true in one lane of the warp, which one is not said (sm_90). All 32 lanes must call it. The compiler
// knows that what follows is one lane's, unlike with a comparison of the lane's number.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE bool elect_sync() {
  unsigned elected;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "elect.sync _|p, 0xffffffff;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(elected));
  return elected != 0;
}

}  // namespace cubind::ptx
