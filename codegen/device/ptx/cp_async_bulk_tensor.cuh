// cp.async.bulk.tensor: one thread copies a box of a tensor that a tensor map describes (sm_90). x is the innermost
// dimension, in elements; elements outside the tensor are read as zeros and not written. The shared side is dense, x
// innermost, swizzled as the map says: 128-byte aligned, and 1024, 512 or 256 with swizzles of 128, 64 or 32 bytes if
// the reader counts on the pattern starting there. A load is done when its mbarrier has counted the whole box's bytes,
// zeros included; a store belongs to a bulk group (cp_async_bulk.cuh). The map is 128 bytes, 64-byte aligned, in
// constant (kernel parameter) or global memory.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void prefetch_tensormap(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

CUBIND_DEVICE void cp_async_bulk_tensor_2d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y,
                                                         unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}
CUBIND_DEVICE void cp_async_bulk_tensor_3d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y,
                                                         unsigned z, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}
// With an L2 policy of createpolicy.cuh.
CUBIND_DEVICE void cp_async_bulk_tensor_2d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y,
                                                         unsigned barrier, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, "
      "%3}], [%4], %5;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
      : "memory");
}
CUBIND_DEVICE void cp_async_bulk_tensor_3d_shared_global(unsigned shared, const void* map, unsigned x, unsigned y,
                                                         unsigned z, unsigned barrier, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, "
      "%3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "l"(policy)
      : "memory");
}
// Into the blocks of the cluster whose bit is set, at the same offsets; each block's barrier counts the box's bytes.
CUBIND_DEVICE void cp_async_bulk_tensor_2d_shared_global_multicast(unsigned shared, const void* map, unsigned x,
                                                                   unsigned y, unsigned barrier, unsigned blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}
CUBIND_DEVICE void cp_async_bulk_tensor_3d_shared_global_multicast(unsigned shared, const void* map, unsigned x,
                                                                   unsigned y, unsigned z, unsigned barrier,
                                                                   unsigned blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}

CUBIND_DEVICE void cp_async_bulk_tensor_2d_global_shared(const void* map, unsigned x, unsigned y, unsigned shared) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
               "r"(y), "r"(shared)
               : "memory");
}
CUBIND_DEVICE void cp_async_bulk_tensor_3d_global_shared(const void* map, unsigned x, unsigned y, unsigned z,
                                                         unsigned shared) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
               "r"(x), "r"(y), "r"(z), "r"(shared)
               : "memory");
}

}  // namespace cubind::ptx
