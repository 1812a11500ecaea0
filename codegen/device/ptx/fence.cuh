// Fences between the generic proxy (ld, st, ldmatrix, mbarrier.init) and the async proxy (bulk copies, wgmma's shared
// operands), sm_90. What a thread has written with st.shared is not there for an async read or write by that alone: the
// writer (or, after a barrier, whoever starts the async operation) fences first. What a bulk copy has written needs no
// fence: its mbarrier is enough.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

// After mbarrier_init, before the barrier behind which others use them.
CUBIND_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
CUBIND_DEVICE void fence_proxy_async_shared_cta() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// Global memory and the cluster's shared memory too.
CUBIND_DEVICE void fence_proxy_async() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

}  // namespace cubind::ptx
