// Host twin of codegen/device/ptx/prmt.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

template <unsigned kSelector>
unsigned prmt(unsigned a, unsigned b) {
  const unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned d = 0;
  for (unsigned i = 0; i < 4; ++i) d |= static_cast<unsigned>(bytes >> (kSelector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return d;
}

}  // namespace cubind::ptx
