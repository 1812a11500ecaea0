// Host twin of codegen/device/ptx/mbarrier.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void mbarrier_init(unsigned barrier, unsigned count) {
  emulator::Machine::current().mbarrier_init(barrier, count);
}
inline void mbarrier_inval(unsigned barrier) {
  emulator::Machine::current().mbarrier_end(barrier);
}
inline void mbarrier_arrive(unsigned barrier) {
  emulator::Machine::current().mbarrier_arrive(barrier, 0);
}
inline void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  emulator::Machine::current().mbarrier_arrive(barrier, bytes);
}
inline void mbarrier_expect_tx(unsigned barrier, unsigned bytes) {
  emulator::Machine::current().mbarrier_expect(barrier, bytes);
}
inline void mbarrier_arrive_cluster(unsigned cluster_barrier) {
  emulator::Machine::current().mbarrier_arrive(cluster_barrier, 0);
}
inline void mbarrier_arrive_expect_tx_cluster(unsigned cluster_barrier, unsigned bytes) {
  emulator::Machine::current().mbarrier_arrive(cluster_barrier, bytes);
}
inline void cp_async_mbarrier_arrive_noinc(unsigned barrier) {
  emulator::Machine::current().copy_arrive(barrier);
}
inline bool mbarrier_test_wait_parity(unsigned barrier, unsigned parity) {
  return emulator::Machine::current().mbarrier_test(barrier, parity);
}
inline bool mbarrier_try_wait_parity(unsigned barrier, unsigned parity) {
  return emulator::Machine::current().mbarrier_test(barrier, parity);
}
inline void mbarrier_wait_parity(unsigned barrier, unsigned parity) {
  emulator::Machine::current().mbarrier_wait(barrier, parity);
}
inline void mbarrier_wait_parity_cluster(unsigned barrier, unsigned parity) {
  emulator::Machine::current().mbarrier_wait(barrier, parity);
}

}  // namespace cubind::ptx
