// A tile whose k several warp groups share: the ways of a block, and those of all blocks of a cluster (ranks). Each
// slab of kSlabTokens has an owner; everybody sends its part to the owner's shared memory, and the owner adds the parts
// to its own in their order and goes on to the output. Parts lie in the order of the accumulators, so a thread reads
// what its like wrote.
//
// Barriers, of all that multiply: of the block, or of the cluster if it has several blocks
//   before sending   nobody reads the old content any more: the ring (sums_over_ring) or the parts of the tile before;
//                    a cluster's blocks are all there
//   after sending    parts may be read
#pragma once

#include "codegen/device/mainloop/wgmma_tile.cuh"
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/cluster.cuh"
#include "codegen/device/ptx/shared_memory.cuh"

namespace cubind {

inline constexpr unsigned kSumsBarrier = 8;

template <GemmConfig kConfig>
class SharedSums {
 public:
  static constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  static constexpr unsigned kBlocks = kSmem.blocks, kSums = kConfig.tile_m / 2;
  static constexpr unsigned kSlabs = kConfig.tile_m / kSlabTokens, kSlabSums = kSlabTokens / 2;

  // ranks: 1, 2 or 4. sums: address of the block's kSmem.sums.
  CUBIND_DEVICE SharedSums(unsigned ranks, unsigned rank, unsigned row_group, unsigned way, unsigned thread,
                           unsigned sums)
      : ranks_(ranks),
        ranks_shift_(ranks / 2),
        rank_(rank),
        way_(way),
        others_(ranks * kSmem.ways - 1),
        parts_(sums + row_group * ((kSlabs + ranks - 1) >> ranks_shift_) * others_ * (kBlocks * kSumSlabBytes) +
               thread * 16) {}

  // Whether this warp group has the slab's sum after combine().
  CUBIND_DEVICE bool owns(unsigned slab) const { return rank_of(slab) == rank_ && way_of(slab) == way_; }

  // A cluster's blocks have all arrived at its barrier before, unless sums lie over the ring. first_tile: of the block.
  CUBIND_DEVICE void combine(float (&sums)[kBlocks][kSums], bool first_tile) const {
    if (ranks_ > 1) {
      if (kSmem.sums_over_ring) ptx::barrier_cluster_arrive_release();
      ptx::barrier_cluster_wait_acquire();
    } else if (kSmem.sums_over_ring || !first_tile) {
      block_barrier();
    }
    send(sums);
    if (ranks_ > 1) {
      ptx::barrier_cluster_arrive_release();  // parts are there
      ptx::barrier_cluster_wait_acquire();
    } else {
      block_barrier();  // parts are there
    }
    CUBIND_UNROLL
    for (unsigned slab = 0; slab < kSlabs; ++slab) {
      if (!owns(slab)) continue;
      CUBIND_NO_UNROLL
      for (unsigned other = 0; other < others_; ++other) {
        visit(part(slab, other), [&](unsigned from, unsigned b, unsigned i) {
          float of_other[4];
          ptx::ld_shared_v4_f32(of_other, from);
          CUBIND_UNROLL
          for (unsigned e = 0; e < 4; ++e) sums[b][slab * kSlabSums + i + e] += of_other[e];
        });
      }
    }
  }

 private:
  CUBIND_DEVICE void send(const float (&sums)[kBlocks][kSums]) const {
    const unsigned me = way_ << ranks_shift_ | rank_;
    CUBIND_UNROLL
    for (unsigned slab = 0; slab < kSlabs; ++slab) {
      if (owns(slab)) continue;
      const unsigned owner = way_of(slab) << ranks_shift_ | rank_of(slab);
      const unsigned to = part(slab, me < owner ? me : me - 1);
      const bool here = rank_of(slab) == rank_;  // the other way is slow to the own block
      visit(here ? to : ptx::mapa(to, rank_of(slab)), [&](unsigned place, unsigned b, unsigned i) {
        const unsigned first = slab * kSlabSums + i;
        const float own[4] = {sums[b][first], sums[b][first + 1], sums[b][first + 2], sums[b][first + 3]};
        if (here) {
          ptx::st_shared_v4_f32(place, own);
        } else {
          ptx::st_cluster_v4_f32(place, own);
        }
      });
    }
  }

  CUBIND_DEVICE static void block_barrier() { ptx::bar_sync(kSumsBarrier, kSmem.warp_groups * kWarpGroupThreads); }

  CUBIND_DEVICE unsigned rank_of(unsigned slab) const { return slab & (ranks_ - 1); }
  CUBIND_DEVICE unsigned way_of(unsigned slab) const { return (slab >> ranks_shift_) % kSmem.ways; }

  // Address in its owner's shared memory.
  CUBIND_DEVICE unsigned part(unsigned slab, unsigned other) const {
    return parts_ + ((slab >> ranks_shift_) * others_ + other) * (kBlocks * kSumSlabBytes);
  }

  template <class Visit>
  static CUBIND_DEVICE void visit(unsigned place, Visit visit) {
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      CUBIND_UNROLL
      for (unsigned i = 0; i < kSlabSums; i += 4) visit(place + (b * kSlabSums + i) * (kWarpGroupThreads * 4), b, i);
    }
  }

  unsigned ranks_, ranks_shift_, rank_, way_;
  unsigned others_;  // who have a part of a slab beside its owner
  unsigned parts_;   // address of this thread's first
};

}  // namespace cubind
