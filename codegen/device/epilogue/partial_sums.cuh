// A tile whose k several blocks share: each leaves its f32 sums in the workspace and counts its arrival; the one that
// arrives last adds all of them in the order of the splits, whichever it is, and goes on to the output. Each warp group
// does so by itself, for its rows; sums lie in the order of its accumulators, so a thread reads what its like wrote.
// The counter goes round to zero with the last arrival, ready for the next launch.
//
// Workspace: counters u32 [tile][warp group], then [tile][split][warp group][accumulators / 4][threads][4] f32.
//
// Ordering: sums stored -> bar.sync of the warp group -> first thread's atom (release, acquire) -> bar.sync -> all sums
// read.
#pragma once

#include "codegen/device/mainloop/wgmma_tile.cuh"
#include "codegen/device/ptx/atom.cuh"
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/global_memory.cuh"

namespace cubind {

template <GemmConfig kConfig>
class PartialSums {
 public:
  static constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  static constexpr unsigned kBlocks = kSmem.blocks, kSums = kConfig.tile_m / 2;

  // arrival: address of a word of shared memory of this warp group's own. barrier: a named one, likewise.
  CUBIND_DEVICE PartialSums(const GemmParams& params, unsigned warp_group, unsigned thread, unsigned arrival,
                            unsigned barrier)
      : workspace_(static_cast<char*>(params.workspace)),
        splits_(params.splits),
        warp_group_(warp_group),
        thread_(thread),
        arrival_(arrival),
        barrier_(barrier) {}

  // Whether this warp group has arrived last: then sums are the tile's.
  CUBIND_DEVICE bool combine(float (&sums)[kBlocks][kSums], unsigned tile, unsigned split) const {
    visit(place_of(tile, split), [&sums](char* place, unsigned b, unsigned i) {
      const float part[4] = {sums[b][i], sums[b][i + 1], sums[b][i + 2], sums[b][i + 3]};
      ptx::st_global_v4_f32(place, part);
    });
    ptx::bar_sync(barrier_, kWarpGroupThreads);  // every thread's sums are stored
    if (thread_ == 0) {
      char* counter = workspace_ + (tile * kSmem.warp_groups + warp_group_) * 4;
      ptx::st_shared_u32(arrival_, ptx::atom_acq_rel_gpu_inc_u32(counter, splits_ - 1));
    }
    ptx::bar_sync(barrier_, kWarpGroupThreads);  // the first thread's answer is there
    if (ptx::ld_shared_u32(arrival_) != splits_ - 1) return false;

    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      CUBIND_UNROLL
      for (unsigned i = 0; i < kSums; ++i) sums[b][i] = 0.0f;
    }
    CUBIND_NO_UNROLL
    for (unsigned other = 0; other < splits_; ++other) {
      visit(place_of(tile, other), [&sums](char* place, unsigned b, unsigned i) {
        float part[4];
        ptx::ld_global_cg_v4_f32(part, place);
        CUBIND_UNROLL
        for (unsigned e = 0; e < 4; ++e) sums[b][i + e] += part[e];
      });
    }
    return true;
  }

 private:
  template <class Visit>
  static CUBIND_DEVICE void visit(char* place, Visit visit) {
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      CUBIND_UNROLL
      for (unsigned i = 0; i < kSums; i += 4) visit(place + (b * kSums + i) * (kWarpGroupThreads * 4), b, i);
    }
  }

  // This thread's first four sums of a split.
  CUBIND_DEVICE char* place_of(unsigned tile, unsigned split) const {
    const unsigned part = (tile * splits_ + split) * kSmem.warp_groups + warp_group_;
    return workspace_ + kWorkspaceCounterBytes + static_cast<u64>(part) * (kBlocks * kSums * kWarpGroupThreads * 4) +
           thread_ * 16;
  }

  char* workspace_;
  unsigned splits_, warp_group_, thread_, arrival_, barrier_;
};

}  // namespace cubind
