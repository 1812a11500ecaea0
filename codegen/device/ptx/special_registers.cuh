// Special registers: %tid, %ctaid, %nctaid.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE unsigned tid_x() {
  return threadIdx.x;
}
CUBIND_DEVICE unsigned ctaid_x() {
  return blockIdx.x;
}
CUBIND_DEVICE unsigned ctaid_y() {
  return blockIdx.y;
}
CUBIND_DEVICE unsigned ctaid_z() {
  return blockIdx.z;
}
CUBIND_DEVICE unsigned nctaid_x() {
  return gridDim.x;
}
CUBIND_DEVICE unsigned nctaid_y() {
  return gridDim.y;
}

}  // namespace cubind::ptx
