// Host twin of codegen/device/ptx/cp_async_bulk.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void cp_async_bulk_shared_global(unsigned shared, const void* global, unsigned bytes, unsigned barrier) {
  emulator::Machine::current().bulk_load(shared, global, bytes, barrier, 0);
}
inline void cp_async_bulk_shared_global(unsigned shared, const void* global, unsigned bytes, unsigned barrier, u64) {
  emulator::Machine::current().bulk_load(shared, global, bytes, barrier, 0);
}
inline void cp_async_bulk_shared_global_multicast(unsigned shared, const void* global, unsigned bytes, unsigned barrier,
                                                  unsigned blocks) {
  emulator::Machine::current().bulk_load(shared, global, bytes, barrier, blocks);
}
inline void cp_async_bulk_cluster_shared(unsigned cluster_shared, unsigned shared, unsigned bytes,
                                         unsigned cluster_barrier) {
  emulator::Machine::current().bulk_load_cluster(cluster_shared, shared, bytes, cluster_barrier);
}
inline void cp_async_bulk_global_shared(void* global, unsigned shared, unsigned bytes) {
  emulator::Machine::current().bulk_store(global, shared, bytes);
}
inline void cp_async_bulk_commit_group() {
  emulator::Machine::current().bulk_commit();
}
template <unsigned kPending>
void cp_async_bulk_wait_group() {
  emulator::Machine::current().bulk_wait(kPending);
}
template <unsigned kPending>
void cp_async_bulk_wait_group_read() {
  emulator::Machine::current().bulk_wait(kPending);
}
inline void cp_async_bulk_prefetch_l2(const void* global, unsigned bytes) {
  emulator::Machine::current().global_access(global, bytes, 16, emulator::Access::read_constant);
}

}  // namespace cubind::ptx
