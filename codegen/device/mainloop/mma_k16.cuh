// One MMA over 16 k in the config's kind: d += a * b.
#pragma once

#include "codegen/device/config.cuh"
#include "codegen/device/ptx/mma.cuh"

namespace cubind {

template <DType kType, MmaKind kKind>
CUBIND_DEVICE void mma_k16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  static_assert(kType == DType::f16 || (kType == DType::bf16 && kKind == MmaKind::mma_m16n8k16));
  if constexpr (kKind == MmaKind::mma_m16n8k8) {
    ptx::mma_m16n8k8_f16(d, a[0], a[1], b0);
    ptx::mma_m16n8k8_f16(d, a[2], a[3], b1);
  } else if constexpr (kType == DType::f16) {
    ptx::mma_m16n8k16_f16(d, a, b0, b1);
  } else {
    ptx::mma_m16n8k16_bf16(d, a, b0, b1);
  }
}

}  // namespace cubind
