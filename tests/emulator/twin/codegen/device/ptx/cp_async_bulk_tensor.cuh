// Host twin of codegen/device/ptx/cp_async_bulk_tensor.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

// As the hardware takes them, coordinates are signed.
template <class... T>
void emulated_tensor_load(unsigned shared, const void* map, unsigned barrier, unsigned blocks, T... at) {
  const int coordinates[3] = {static_cast<int>(at)...};
  emulator::Machine::current().tensor_load(shared, map, sizeof...(at), coordinates, barrier, blocks);
}
template <class... T>
void emulated_tensor_store(const void* map, unsigned shared, T... at) {
  const int coordinates[3] = {static_cast<int>(at)...};
  emulator::Machine::current().tensor_store(map, sizeof...(at), coordinates, shared);
}

inline void prefetch_tensormap(const void*) {}
inline void cp_async_bulk_tensor_2d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y,
                                                  unsigned barrier) {
  emulated_tensor_load(shared, map, barrier, 0, x, y);
}
inline void cp_async_bulk_tensor_3d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y, unsigned z,
                                                  unsigned barrier) {
  emulated_tensor_load(shared, map, barrier, 0, x, y, z);
}
inline void cp_async_bulk_tensor_2d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y,
                                                  unsigned barrier, u64) {
  emulated_tensor_load(shared, map, barrier, 0, x, y);
}
inline void cp_async_bulk_tensor_3d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y, unsigned z,
                                                  unsigned barrier, u64) {
  emulated_tensor_load(shared, map, barrier, 0, x, y, z);
}
inline void cp_async_bulk_tensor_2d_shared_global_multicast(unsigned shared, const void* map, unsigned x, unsigned y,
                                                            unsigned barrier, unsigned blocks) {
  emulated_tensor_load(shared, map, barrier, blocks, x, y);
}
inline void cp_async_bulk_tensor_3d_shared_global_multicast(unsigned shared, const void* map, unsigned x, unsigned y,
                                                            unsigned z, unsigned barrier, unsigned blocks) {
  emulated_tensor_load(shared, map, barrier, blocks, x, y, z);
}
inline void cp_async_bulk_tensor_2d_global_shared(const void* map, unsigned x, unsigned y, unsigned shared) {
  emulated_tensor_store(map, shared, x, y);
}
inline void cp_async_bulk_tensor_3d_global_shared(const void* map, unsigned x, unsigned y, unsigned z,
                                                  unsigned shared) {
  emulated_tensor_store(map, shared, x, y, z);
}

}  // namespace cubind::ptx
