// Host twin of codegen/device/ptx/global_memory.cuh: the same functions, on the emulated machine.
#pragma once

#include <cstring>

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

template <class T>
void emulated_ld_global(T& value, const void* address, emulator::Access access) {
  emulator::Machine::current().global_access(address, sizeof(T), access);
  std::memcpy(&value, address, sizeof(T));
}
template <class T>
void emulated_st_global(void* address, const T& value) {
  emulator::Machine::current().global_access(address, sizeof(T), emulator::Access::write);
  std::memcpy(address, &value, sizeof(T));
}

inline void ld_global_nc_v4_u32(unsigned (&value)[4], const void* address) {
  emulated_ld_global(value, address, emulator::Access::read_constant);
}
inline unsigned ld_global_nc_u16(const void* address) {
  unsigned short value;
  emulated_ld_global(value, address, emulator::Access::read_constant);
  return value;
}
inline void ld_global_cg_v4_f32(float (&value)[4], const void* address) {
  emulated_ld_global(value, address, emulator::Access::read);
}
inline void st_global_u16(void* address, unsigned value) {
  emulated_st_global(address, static_cast<unsigned short>(value));
}
inline void st_global_v4_u32(void* address, const unsigned (&value)[4]) {
  emulated_st_global(address, value);
}
inline void st_global_v4_f32(void* address, const float (&value)[4]) {
  emulated_st_global(address, value);
}

}  // namespace cubind::ptx
