// stmatrix (sm_90): four 8 x 8 matrices of 16-bit values, ldmatrix's inverse. Lane i gives the address of row i % 8 of
// matrix i / 8. Transposed: register j of lane l holds elements l / 4 of rows 2 (l % 4) and 2 (l % 4) + 1 of matrix j,
// so that an accumulator fragment (ptx/mma.cuh), in pairs along its columns, is stored column by column.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void stmatrix_x4_trans(unsigned address, const unsigned (&value)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]),
               "r"(value[1]), "r"(value[2]), "r"(value[3])
               : "memory");
}

}  // namespace cubind::ptx
