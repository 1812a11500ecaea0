// cp.async: 16-byte copies from global to shared memory that bypass registers and L1 (sm_80). Of `source_bytes` (0 or
// 16) bytes read, the rest of the 16 is filled with zeros; with 0 the address is not accessed.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void cp_async_cg_16(unsigned shared, const void* global, unsigned source_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(source_bytes)
               : "memory");
}

CUBIND_DEVICE void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most kPending of this thread's latest groups are in flight.
template <unsigned kPending>
CUBIND_DEVICE void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace cubind::ptx
