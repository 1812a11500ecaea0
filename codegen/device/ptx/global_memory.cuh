// ld.global and st.global. `nc` is for what no thread writes while the kernel runs; `cg` skips L1, for what another
// block has written.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void ld_global_nc_v4_u32(unsigned (&value)[4], const void* address) {
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "l"(address));
}
CUBIND_DEVICE unsigned ld_global_nc_u16(const void* address) {
  unsigned short value;
  asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(value) : "l"(address));
  return value;
}
CUBIND_DEVICE void ld_global_cg_v4_f32(float (&value)[4], const void* address) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
               : "l"(address)
               : "memory");
}
CUBIND_DEVICE void st_global_u16(void* address, unsigned value) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(static_cast<unsigned short>(value)) : "memory");
}
CUBIND_DEVICE void st_global_v4_u32(void* address, const unsigned (&value)[4]) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value[0]), "r"(value[1]), "r"(value[2]),
               "r"(value[3])
               : "memory");
}
CUBIND_DEVICE void st_global_v4_f32(void* address, const float (&value)[4]) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(value[0]), "f"(value[1]), "f"(value[2]),
               "f"(value[3])
               : "memory");
}

}  // namespace cubind::ptx
