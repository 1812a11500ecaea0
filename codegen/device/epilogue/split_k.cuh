// Split-K: `splits` blocks along grid.z share a tile. Each leaves its f32 sums in the workspace
// (protocol/kernel_abi.hpp) and counts its arrival; the one that arrives last adds them in the order of the splits,
// whichever it is, and goes on to the output. The counter goes round to zero with the last arrival, which makes it
// ready for the next launch.
//
// Ordering: sums stored -> bar.sync -> first thread's atom (release, acquire) -> bar.sync -> sums of the others read.
#pragma once

#include "codegen/device/epilogue/block_sums.cuh"
#include "codegen/device/ptx/atom.cuh"
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/global_memory.cuh"
#include "codegen/device/ptx/special_registers.cuh"
#include "protocol/kernel_abi.hpp"

namespace cubind {

template <GemmConfig kConfig>
class SplitWorkspace {
 public:
  CUBIND_DEVICE explicit SplitWorkspace(const GemmParams& params)
      : workspace_(static_cast<char*>(params.workspace)),
        tile_(ptx::ctaid_y() * ptx::nctaid_x() + ptx::ctaid_x()),
        splits_(params.splits) {}

  CUBIND_DEVICE void write(const float (&piece)[kPieceRows], unsigned split, unsigned token, unsigned first_row) {
    char* place = place_of(split, token, first_row);
    const float low[4] = {piece[0], piece[1], piece[2], piece[3]}, high[4] = {piece[4], piece[5], piece[6], piece[7]};
    ptx::st_global_v4_f32(place, low);
    ptx::st_global_v4_f32(place + 16, high);
  }

  // Whether this block is the last of its tile. All threads call it, after their writes; `arrival` is the address of a
  // word of shared memory that nothing else uses.
  CUBIND_DEVICE bool arrive_last(unsigned tid, unsigned arrival) {
    ptx::bar_sync();  // every thread's sums are stored
    if (tid == 0) ptx::st_shared_u32(arrival, ptx::atom_acq_rel_gpu_inc_u32(workspace_ + tile_ * 4, splits_ - 1));
    ptx::bar_sync();  // the first thread's answer is there
    return ptx::ld_shared_u32(arrival) == splits_ - 1;
  }

  CUBIND_DEVICE void read_total(float (&piece)[kPieceRows], unsigned token, unsigned first_row) const {
    CUBIND_UNROLL
    for (unsigned e = 0; e < kPieceRows; ++e) piece[e] = 0.0f;
    for (unsigned split = 0; split < splits_; ++split) {
      const char* place = place_of(split, token, first_row);
      float low[4], high[4];
      ptx::ld_global_cg_v4_f32(low, place);
      ptx::ld_global_cg_v4_f32(high, place + 16);
      CUBIND_UNROLL
      for (unsigned e = 0; e < 4; ++e) {
        piece[e] += low[e];
        piece[4 + e] += high[e];
      }
    }
  }

 private:
  CUBIND_DEVICE char* place_of(unsigned split, unsigned token, unsigned first_row) const {
    const u64 partial = static_cast<u64>(tile_) * splits_ + split;
    return workspace_ + kWorkspaceCounterBytes +
           (partial * (kConfig.tile_m * kConfig.tile_n) + token * kConfig.tile_n + first_row) * 4;
  }

  char* workspace_;
  unsigned tile_, splits_;
};

}  // namespace cubind
