// ld.shared, st.shared and the block's dynamic shared memory. Addresses are 32-bit, in the shared window.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE unsigned dynamic_shared() {
  extern __shared__ __align__(128) unsigned char cubind_dynamic_shared[];
  return static_cast<unsigned>(__cvta_generic_to_shared(cubind_dynamic_shared));
}

CUBIND_DEVICE unsigned ld_shared_u16(unsigned address) {
  unsigned short value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}
CUBIND_DEVICE unsigned ld_shared_u32(unsigned address) {
  unsigned value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
CUBIND_DEVICE void ld_shared_v4_u32(unsigned (&value)[4], unsigned address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}
CUBIND_DEVICE void ld_shared_v4_f32(float (&value)[4], unsigned address) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
               : "r"(address)
               : "memory");
}
CUBIND_DEVICE void st_shared_u32(unsigned address, unsigned value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
CUBIND_DEVICE void st_shared_f32(unsigned address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
CUBIND_DEVICE void st_shared_v4_f32(unsigned address, const float (&value)[4]) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value[0]), "f"(value[1]), "f"(value[2]),
               "f"(value[3])
               : "memory");
}
CUBIND_DEVICE void st_shared_v4_u32(unsigned address, const unsigned (&value)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value[0]), "r"(value[1]), "r"(value[2]),
               "r"(value[3])
               : "memory");
}

}  // namespace cubind::ptx
