// fma on pairs of 16-bit floats: exact product and sum, one rounding, subnormals kept. Out of line: the kernels call it
// from many unrolled places.
#pragma once

#include "tests/emulator/machine/float16.hpp"

namespace cubind::emulator {

unsigned fma_f16x2(unsigned a, unsigned b, unsigned c);
unsigned fma_bf16x2(unsigned a, unsigned b, unsigned c);

}  // namespace cubind::emulator
