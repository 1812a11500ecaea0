// mbarrier: a barrier in shared memory that counts arrivals and bytes (sm_90). It passes through phases 0, 1, 2, ...; a
// phase completes when `count` arrivals have come and as many bytes were copied as were announced for it. Waiting is by
// the phase's parity, so a waiter must never be two phases behind; on a fresh barrier parity 1, the phase before the
// first, counts as complete. 8 bytes, 8-byte aligned. An arrival releases (to the block; the cluster forms: to the
// cluster) what the thread knows of, a wait that succeeds acquires it.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

// Other threads may use it after fence_mbarrier_init and a barrier.
CUBIND_DEVICE void mbarrier_init(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
// Before the 8 bytes are used for anything else.
CUBIND_DEVICE void mbarrier_inval(unsigned barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

CUBIND_DEVICE void mbarrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Announces `bytes` for the current phase, then arrives.
CUBIND_DEVICE void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
CUBIND_DEVICE void mbarrier_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// On a barrier of any block of the cluster: its address as mapa gives it.
CUBIND_DEVICE void mbarrier_arrive_cluster(unsigned cluster_barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier) : "memory");
}
CUBIND_DEVICE void mbarrier_arrive_expect_tx_cluster(unsigned cluster_barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(cluster_barrier),
               "r"(bytes)
               : "memory");
}
// An arrival when this thread's cp.async so far are done; `count` has to include it.
CUBIND_DEVICE void cp_async_mbarrier_arrive_noinc(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Whether the phase of this parity is complete; does not wait.
CUBIND_DEVICE bool mbarrier_test_wait_parity(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
// The same, but may sleep for a while before it says no.
CUBIND_DEVICE bool mbarrier_try_wait_parity(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
// try_wait until it says yes.
CUBIND_DEVICE void mbarrier_wait_parity(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "WAIT:\n\t"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1;\n\t"
      "@!p bra WAIT;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
// Where arrivals come from other blocks of the cluster and release what those have written.
CUBIND_DEVICE void mbarrier_wait_parity_cluster(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "WAIT:\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n\t"
      "@!p bra WAIT;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

}  // namespace cubind::ptx
