// Host twin of codegen/device/ptx/shared_memory.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline unsigned dynamic_shared() {
  return emulator::SharedMemory::kBase;
}

template <class T>
T emulated_ld_shared(unsigned address) {
  T value;
  emulator::Machine::current().shared_read(&value, address, sizeof(T));
  return value;
}
inline void emulated_st_shared(unsigned address, const void* value, unsigned bytes) {
  emulator::Machine::current().shared_write(address, value, bytes);
}

inline unsigned ld_shared_u16(unsigned address) {
  return emulated_ld_shared<unsigned short>(address);
}
inline unsigned ld_shared_u32(unsigned address) {
  return emulated_ld_shared<unsigned>(address);
}
inline void ld_shared_v4_u32(unsigned (&value)[4], unsigned address) {
  emulator::Machine::current().shared_read(value, address, 16);
}
inline void ld_shared_v4_f32(float (&value)[4], unsigned address) {
  emulator::Machine::current().shared_read(value, address, 16);
}
inline void st_shared_u32(unsigned address, unsigned value) {
  emulated_st_shared(address, &value, 4);
}
inline void st_shared_f32(unsigned address, float value) {
  emulated_st_shared(address, &value, 4);
}
inline void st_shared_v4_f32(unsigned address, const float (&value)[4]) {
  emulated_st_shared(address, value, 16);
}
inline void st_shared_v4_u32(unsigned address, const unsigned (&value)[4]) {
  emulated_st_shared(address, value, 16);
}

}  // namespace cubind::ptx
