// bar.sync: every thread of the block arrives and waits; shared and global accesses before it are seen after it by the
// block's threads.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void bar_sync() {
  asm volatile("bar.sync 0;" ::: "memory");
}

}  // namespace cubind::ptx
