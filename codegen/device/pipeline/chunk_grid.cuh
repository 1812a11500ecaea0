// How a block's threads share a table of 16-byte chunks, kRows x kColumns, row after row: a thread keeps its column and
// goes down kRowStep rows with each step, so that its addresses differ by constants.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind {

template <unsigned kRows, unsigned kColumns, unsigned kThreads>
struct ChunkGrid {
  static_assert(kThreads % kColumns == 0);
  static constexpr unsigned kRowStep = kThreads / kColumns;
  static constexpr unsigned kSteps = ceil_div(kRows, kRowStep);

  static CUBIND_DEVICE unsigned first_row(unsigned tid) { return tid / kColumns; }
  static CUBIND_DEVICE unsigned column(unsigned tid) { return tid % kColumns; }
  // Whether the thread has a chunk in this step.
  static CUBIND_DEVICE bool has(unsigned tid, unsigned step) {
    return kRows % kRowStep == 0 || first_row(tid) + step * kRowStep < kRows;
  }
};

}  // namespace cubind
