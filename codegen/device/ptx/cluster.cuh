// Clusters (sm_90): their barrier, and the shared memory of their other blocks. mapa turns an address of this block's
// shared memory into that of the same place in another block. A block's shared memory is there from the cluster's first
// barrier on and until the block exits: a last barrier keeps it for those who still use it.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

// All threads of all blocks of the cluster, first one and then the other; shared and global accesses before the arrival
// are seen after the wait.
CUBIND_DEVICE void barrier_cluster_arrive_release() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
// Orders nothing.
CUBIND_DEVICE void barrier_cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
CUBIND_DEVICE void barrier_cluster_wait_acquire() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

CUBIND_DEVICE unsigned mapa(unsigned shared, unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}

CUBIND_DEVICE unsigned ld_cluster_u32(unsigned address) {
  unsigned value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
CUBIND_DEVICE void ld_cluster_v4_f32(float (&value)[4], unsigned address) {
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
               : "r"(address)
               : "memory");
}
CUBIND_DEVICE void st_cluster_u32(unsigned address, unsigned value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
CUBIND_DEVICE void st_cluster_f32(unsigned address, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
CUBIND_DEVICE void st_cluster_v4_f32(unsigned address, const float (&value)[4]) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value[0]), "f"(value[1]),
               "f"(value[2]), "f"(value[3])
               : "memory");
}
// Asynchronous: 16 bytes that an mbarrier of the receiving block counts when they are there. Both addresses are of that
// block.
CUBIND_DEVICE void st_async_v4_f32(unsigned address, const float (&value)[4], unsigned cluster_barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "f"(value[0]), "f"(value[1]), "f"(value[2]), "f"(value[3]), "r"(cluster_barrier)
      : "memory");
}

}  // namespace cubind::ptx
