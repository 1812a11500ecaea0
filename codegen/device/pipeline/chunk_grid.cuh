// How a block's threads share a table of 16-byte chunks, kRows x kColumns: thread tid takes chunks tid, tid + kThreads,
// and so on in row-major order. Written so that a thread's column, or its row, is the same in every step: then its
// addresses differ by constants.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind {

template <unsigned kRows, unsigned kColumns, unsigned kThreads>
struct ChunkGrid {
  static_assert(kThreads % kColumns == 0 || kColumns % kThreads == 0);
  static constexpr unsigned kSteps = ceil_div(kRows * kColumns, kThreads);

  static CUBIND_DEVICE unsigned row(unsigned tid, unsigned step) {
    if constexpr (kThreads % kColumns == 0) {
      return tid / kColumns + step * (kThreads / kColumns);
    } else {
      return step / (kColumns / kThreads);
    }
  }
  static CUBIND_DEVICE unsigned column(unsigned tid, unsigned step) {
    if constexpr (kThreads % kColumns == 0) {
      return tid % kColumns;
    } else {
      return tid + step % (kColumns / kThreads) * kThreads;
    }
  }
  // Whether the thread has a chunk in this step.
  static CUBIND_DEVICE bool has(unsigned tid, unsigned step) {
    return kRows * kColumns % kThreads == 0 || tid + step * kThreads < kRows * kColumns;
  }
};

}  // namespace cubind
