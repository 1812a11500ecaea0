// Special registers: %tid, %ctaid, %nctaid, and of clusters (sm_90; without one: rank 0 of 1).
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
CUBIND_DEVICE unsigned cluster_ctarank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
CUBIND_DEVICE unsigned cluster_nctarank() {
  unsigned blocks;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}
CUBIND_DEVICE unsigned clusterid_x() {
  unsigned cluster;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
  return cluster;
}
CUBIND_DEVICE unsigned nclusterid_x() {
  unsigned clusters;
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
  return clusters;
}

}  // namespace cubind::ptx
