// Host twin of codegen/device/ptx/cluster.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline void barrier_cluster_arrive_release() {
  emulator::Machine::current().cluster_arrive(true);
}
inline void barrier_cluster_arrive_relaxed() {
  emulator::Machine::current().cluster_arrive(false);
}
inline void barrier_cluster_wait_acquire() {
  emulator::Machine::current().cluster_wait();
}
inline unsigned mapa(unsigned shared, unsigned rank) {
  return emulator::Machine::current().mapa(shared, rank);
}
inline unsigned ld_cluster_u32(unsigned address) {
  unsigned value;
  emulator::Machine::current().shared_read(&value, address, 4);
  return value;
}
inline void ld_cluster_v4_f32(float (&value)[4], unsigned address) {
  emulator::Machine::current().shared_read(value, address, 16);
}
inline void st_cluster_u32(unsigned address, unsigned value) {
  emulator::Machine::current().shared_write(address, &value, 4);
}
inline void st_cluster_f32(unsigned address, float value) {
  emulator::Machine::current().shared_write(address, &value, 4);
}
inline void st_cluster_v4_f32(unsigned address, const float (&value)[4]) {
  emulator::Machine::current().shared_write(address, value, 16);
}
inline void st_async_v4_f32(unsigned address, const float (&value)[4], unsigned cluster_barrier) {
  emulator::Machine::current().shared_store_async(address, value, 16, cluster_barrier);
}

}  // namespace cubind::ptx
