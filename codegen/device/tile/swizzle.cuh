// Where a 16-byte chunk of an activation row lies in shared memory. Rows are a multiple of 128 bytes apart, so the
// eight rows that one ldmatrix reads at the same chunk would share four banks; exchanging chunks within each 128 bytes
// by the row's number spreads them over all 32.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind {

constexpr CUBIND_HD unsigned swizzled_chunk(unsigned row, unsigned chunk) {
  return chunk ^ (row & 7);
}

}  // namespace cubind
