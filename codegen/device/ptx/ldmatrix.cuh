// ldmatrix: four 8 x 8 matrices of 16-bit values. Lane i gives the address of row i % 8 of matrix i / 8; register j of
// lane l receives elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of matrix j.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void ldmatrix_x4(unsigned (&value)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

}  // namespace cubind::ptx
