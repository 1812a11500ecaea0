// bar.sync and bar.arrive: barriers of whole warps; shared and global accesses before an arrival are seen after the
// wait by those who waited. And bar.warp.sync, the same for the lanes of a warp.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

// Every thread of the block.
CUBIND_DEVICE void bar_sync() {
  asm volatile("bar.sync 0;" ::: "memory");
}
// Named barriers: id 1 to 15, `threads` a multiple of 32, both arrivals counted; the same number at every call for an
// id in use.
CUBIND_DEVICE void bar_sync(unsigned id, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// Counts this warp in without waiting.
CUBIND_DEVICE void bar_arrive(unsigned id, unsigned threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

CUBIND_DEVICE void bar_warp_sync() {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

}  // namespace cubind::ptx
