// cp.async.bulk: one thread copies a run of bytes, a multiple of 16 and 16-byte aligned on both sides (sm_90). Into
// shared memory: done when its mbarrier has counted the bytes. Out of shared memory: in groups of the thread that
// started it; `read` waits only until the shared bytes may be overwritten.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void cp_async_bulk_shared_global(unsigned shared, const void* global, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
               "l"(global), "r"(bytes), "r"(barrier)
               : "memory");
}
// policy: from createpolicy.cuh.
CUBIND_DEVICE void cp_async_bulk_shared_global(unsigned shared, const void* global, unsigned bytes, unsigned barrier,
                                               u64 policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}
// Into the blocks of the cluster whose bit is set, at the same offsets; each block's barrier counts its own bytes.
CUBIND_DEVICE void cp_async_bulk_shared_global_multicast(unsigned shared, const void* global, unsigned bytes,
                                                         unsigned barrier, unsigned blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}
// From this block's shared memory into another's of the cluster; both cluster addresses are of the receiving block.
CUBIND_DEVICE void cp_async_bulk_cluster_shared(unsigned cluster_shared, unsigned shared, unsigned bytes,
                                                unsigned cluster_barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   cluster_shared),
               "r"(shared), "r"(bytes), "r"(cluster_barrier)
               : "memory");
}

CUBIND_DEVICE void cp_async_bulk_global_shared(void* global, unsigned shared, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared), "r"(bytes)
               : "memory");
}
CUBIND_DEVICE void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until at most kPending of this thread's latest groups are in flight.
template <unsigned kPending>
CUBIND_DEVICE void cp_async_bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
template <unsigned kPending>
CUBIND_DEVICE void cp_async_bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// A hint: these bytes into L2.
CUBIND_DEVICE void cp_async_bulk_prefetch_l2(const void* global, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
}

}  // namespace cubind::ptx
