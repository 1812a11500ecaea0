// Host twin of codegen/device/ptx/special_registers.cuh: the same functions, on the emulated machine.
#pragma once

#include "codegen/device/prelude.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::ptx {

inline unsigned tid_x() {
  return emulator::Machine::current().thread_index();
}
inline unsigned ctaid_x() {
  return emulator::Machine::current().block_index().x;
}
inline unsigned ctaid_y() {
  return emulator::Machine::current().block_index().y;
}
inline unsigned ctaid_z() {
  return emulator::Machine::current().block_index().z;
}
inline unsigned nctaid_x() {
  return emulator::Machine::current().grid().x;
}
inline unsigned nctaid_y() {
  return emulator::Machine::current().grid().y;
}
inline unsigned cluster_ctarank() {
  return emulator::Machine::current().cluster_rank();
}
inline unsigned cluster_nctarank() {
  return emulator::Machine::current().cluster().count();
}
inline unsigned clusterid_x() {
  return ctaid_x() / emulator::Machine::current().cluster().x;
}
inline unsigned nclusterid_x() {
  return nctaid_x() / emulator::Machine::current().cluster().x;
}

}  // namespace cubind::ptx
