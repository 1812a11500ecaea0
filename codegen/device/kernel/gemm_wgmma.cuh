// Weight-quantized GEMM through wgmma (sm_90a): out[m, n] = sum over k of x[m, k] * s[n, k / group] * (q[n, k] - z) (+
// bias). One block a multiprocessor; what it works on: work_range.cuh.
//
//   global                         shared: ring of stages          a warp group
//   x        [m, k]   -- TMA ---->  [units][tile_m][64]  ------------------------> B operand --+
//   weights           -- TMA ---->  [panels][units]      ---->  registers: A fragments --------+-> wgmma -> sums
//   scales, zeros   cp.async ---->  a copy for each unit ---->  of a row pair                              |
//                                                                                                          |
//   out      [m, n]    <----------  slabs of 16 tokens (transposed_output.cuh)  <--------------------------+
//                             ^---  sums of other ways, and of other blocks of a cluster (shared_sums.cuh) <+
//
// Warp groups: those that multiply, then one of which three warps fill the stages (fill_stages.cuh). All walk the same
// segments and stages and meet at two mbarriers of each stage:
//
//   full    an arrival of each warp that starts bulk copies, and their bytes; an arrival of each lane of the warp that
//           copies scales, when its cp.async are done. After it the stage may be read.
//   empty   an arrival of each warp that multiplies, when its reads and its wgmmas of the stage are complete. After it
//           the stage may be filled.
//
// Nobody who fills waits for an epilogue: the ring fills with the next tile while one is stored. Only where sums lie
// over the ring (wgmma_layout.cuh) it waits until they are added up. Warp groups that multiply wait for each other only
// to add up their sums. Named barriers: 1 + g is warp group g's own, for its epilogue; kSumsBarrier of all that
// multiply; kRingBarrier of these and those who fill.
//
// Dependent launch: weights, scales and zero points are read at once; x and output wait for the kernels before this
// one.
#pragma once

#include "codegen/device/epilogue/shared_sums.cuh"
#include "codegen/device/epilogue/transposed_output.cuh"
#include "codegen/device/mainloop/wgmma_tile.cuh"
#include "codegen/device/pipeline/fill_stages.cuh"
#include "codegen/device/ptx/fence.cuh"
#include "codegen/device/ptx/griddepcontrol.cuh"
#include "codegen/device/ptx/setmaxnreg.cuh"
#include "codegen/device/ptx/shfl.cuh"
#include "codegen/device/ptx/special_registers.cuh"

namespace cubind {

// Registers of a thread once the warp groups have taken their roles: what the block starts with, less what those who
// copy keep, for the others.
inline constexpr unsigned kProducerRegisters = 24;
constexpr CUBIND_HD unsigned multiplier_registers(unsigned threads) {
  const unsigned at_start = 65536 / threads / 8 * 8;
  const unsigned each = (at_start * threads - kProducerRegisters * kWarpGroupThreads) / (threads - kWarpGroupThreads);
  return each < 240 ? each / 8 * 8 : 240;
}

// The part of a warp group that multiplies.
template <GemmConfig kConfig>
CUBIND_DEVICE void multiply_segments(const GemmParams& params, WorkRange work, const TileGrid& grid, unsigned shared,
                                     unsigned warp_group, unsigned tid) {
  constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  const unsigned thread = tid % kWarpGroupThreads;
  const unsigned row_group = warp_group / kSmem.ways, way = warp_group % kSmem.ways;
  const unsigned ranks = kConfig.can_split() ? ptx::cluster_nctarank() : 1;
  const WgmmaTile<kConfig> tile(params, shared, row_group, way, thread / kWarpLanes, thread % kWarpLanes);
  const SharedSums<kConfig> shared_sums(ranks, ptx::cluster_ctarank(), row_group, way, thread, shared + kSmem.sums);
  TransposedOutput<kConfig> output(params, row_group, thread,
                                   shared + kSmem.staging + warp_group * 2 * kSmem.staging_slab, 1 + warp_group);
  StageRing<kConfig.stages> ring(shared + kSmem.barriers);
  Segment segment;
  bool first_tile = true, more = work.next(segment);
  while (more) {
    const unsigned tile_number = segment.tile;
    float sums[kSmem.blocks][kConfig.tile_m / 2];
    tile.multiply_segment(sums, ring, segment);
    more = work.next(segment);
    if constexpr (kConfig.can_split()) {
      if (kSmem.ways > 1 || ranks > 1) shared_sums.combine(sums, first_tile);
      first_tile = false;
      if (kSmem.sums_over_ring && more) {
        ptx::fence_proxy_async_shared_cta();  // copies follow over what was written here
        ptx::bar_arrive(kRingBarrier, (kConfig.warps() + kFillWarps) * kWarpLanes);
      }
    }
    ptx::griddepcontrol_wait();
    output.store(sums, grid.place(tile_number), [&](unsigned slab) { return shared_sums.owns(slab); });
  }
}

template <GemmConfig kConfig>
CUBIND_DEVICE void gemm_wgmma(const MappedGemmParams& params) {
  static_assert(kConfig.well_formed());
  constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  const unsigned tid = ptx::tid_x(), warp = ptx::shfl_idx(tid / kWarpLanes, 0);
  const unsigned shared = (ptx::dynamic_shared() + kWgmmaBasePad - 1) / kWgmmaBasePad * kWgmmaBasePad;
  ptx::griddepcontrol_launch_dependents();

  if (tid == 0) {
    StageRing<kConfig.stages> ring(shared + kSmem.barriers);
    for (unsigned i = 0; i < kConfig.stages; ++i) {
      ptx::mbarrier_init(ring.full(), kFillArrivals);
      ptx::mbarrier_init(ring.empty(), kConfig.warps());
      ring.advance();
    }
    ptx::fence_mbarrier_init();
  }
  const unsigned warp_group = warp / kWarpGroupWarps, fill_warp = warp % kWarpGroupWarps;
  ptx::bar_sync();  // the barriers are there for all
  const bool early_arrival = kConfig.can_split() && !kSmem.sums_over_ring && ptx::cluster_nctarank() > 1;
  if (early_arrival) ptx::barrier_cluster_arrive_release();

  const TileGrid grid{ceil_div(params.m, kConfig.tile_m), ceil_div(params.n, kConfig.tile_n)};
  const WorkRange work(ptx::ctaid_x(), ptx::nctaid_x(), grid.tiles(), params.splits, params.k_tiles_per_split,
                       ceil_div(params.k, kConfig.tile_k));
  if (warp_group < kSmem.warp_groups) {
    ptx::setmaxnreg_inc<multiplier_registers(kConfig.threads())>();
    multiply_segments<kConfig>(params, work, grid, shared, warp_group, tid);
    return;
  }
  ptx::setmaxnreg_dec<kProducerRegisters>();
  switch (fill_warp) {
    case 0: fill_weights<kConfig>(params, work, grid, shared); break;
    case 1: fill_groups<kConfig>(params, work, grid, shared, tid % kWarpLanes); break;
    case 2:
      ptx::griddepcontrol_wait();
      fill_activations<kConfig>(params, work, grid, shared);
      break;
  }
  if (early_arrival) ptx::barrier_cluster_wait_acquire();
}

}  // namespace cubind
