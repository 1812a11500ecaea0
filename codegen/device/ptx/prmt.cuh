// prmt: four bytes picked from two words. Byte i of the result is byte (selector >> 4 i) & 7 of {a: 0..3, b: 4..7}.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

template <unsigned kSelector>
CUBIND_DEVICE unsigned prmt(unsigned a, unsigned b) {
  unsigned d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "n"(kSelector));
  return d;
}

}  // namespace cubind::ptx
