// Weight-quantized GEMM through wgmma (sm_90a): out[m, n] = sum over k of x[m, k] * s[n, k / group] * (q[n, k] - z) (+
// bias). One block a multiprocessor; what it works on: work_range.cuh.
//
//   global                         shared: ring of stages          a warp group
//   x        [m, k]   -- TMA ---->  [units][tile_m][64]  ------------------------> B operand --+
//   weights           -- TMA ---->  [panels][units]      ---->  registers: A fragments --------+-> wgmma -> sums
//   scales, zeros   cp.async ---->  a copy for each unit ---->  of a row pair                              |
//                                                                                                          |
//   out      [m, n]    <----------  slabs of 16 tokens (transposed_output.cuh)  <--------------------------+
//                             ^---  sums of other blocks through the workspace: split-K (partial_sums.cuh) <+
//
// Warp groups: those that multiply, then one of which three warps fill the stages (fill_stages.cuh). All walk the same
// segments and stages and meet at two mbarriers of each stage:
//
//   full    an arrival of each warp that starts bulk copies, and their bytes; an arrival of each lane of the warp that
//           copies scales, when its cp.async are done. After it the stage may be read.
//   empty   an arrival of each warp that multiplies, when its reads and its wgmmas of the stage are complete. After it
//           the stage may be filled.
//
// Nobody who fills waits for an epilogue: the ring fills with the next tile while one is stored. Warp groups that
// multiply do not wait for each other. Named barrier 1 + g is warp group g's own, for its epilogue.
//
// Dependent launch: weights, scales and zero points are read at once; x, workspace and output wait for the kernels
// before this one.
#pragma once

#include "codegen/device/epilogue/partial_sums.cuh"
#include "codegen/device/epilogue/transposed_output.cuh"
#include "codegen/device/mainloop/wgmma_tile.cuh"
#include "codegen/device/pipeline/fill_stages.cuh"
#include "codegen/device/ptx/fence.cuh"
#include "codegen/device/ptx/griddepcontrol.cuh"
#include "codegen/device/ptx/setmaxnreg.cuh"
#include "codegen/device/ptx/shfl.cuh"
#include "codegen/device/ptx/special_registers.cuh"

namespace cubind {

// Registers of a thread once the warp groups have taken their roles: 128 and 256 threads of the 168 * 384 that they
// start with.
inline constexpr unsigned kProducerRegisters = 24, kMultiplierRegisters = 240;

// The part of a warp group that multiplies.
template <GemmConfig kConfig>
CUBIND_DEVICE void multiply_segments(const GemmParams& params, WorkRange work, const TileGrid& grid, unsigned shared,
                                     unsigned warp_group, unsigned tid) {
  constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  const unsigned thread = tid % kWarpGroupThreads, barrier = 1 + warp_group;
  const WgmmaTile<kConfig> tile(params, warp_group, thread / kWarpLanes, thread % kWarpLanes);
  const PartialSums<kConfig> partial(params, warp_group, thread, shared + kSmem.arrival + warp_group * 4, barrier);
  TransposedOutput<kConfig> output(params, warp_group, thread,
                                   shared + kSmem.staging + warp_group * 2 * kSmem.staging_slab, barrier);
  StageRing<kConfig.stages> ring(shared + kSmem.barriers);
  Segment segment;
  while (work.next(segment)) {
    float sums[kSmem.blocks][kConfig.tile_m / 2];
    tile.multiply_segment(sums, ring, shared, segment);
    ptx::griddepcontrol_wait();
    if (params.splits > 1 && !partial.combine(sums, segment.tile, ptx::ctaid_x() % params.splits)) return;
    output.store(sums, grid.place(segment.tile));
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
      ptx::mbarrier_init(ring.empty(), kConfig.warps_n);
      ring.advance();
    }
    ptx::fence_mbarrier_init();
  }
  ptx::bar_sync();  // the barriers are there for all

  const TileGrid grid{ceil_div(params.m, kConfig.tile_m), ceil_div(params.n, kConfig.tile_n)};
  const WorkRange work(ptx::ctaid_x(), ptx::nctaid_x(), grid.tiles(), params.splits, params.k_tiles_per_split,
                       ceil_div(params.k, kConfig.tile_k));
  const unsigned warp_group = warp / kWarpGroupWarps;
  if (warp_group < kSmem.warp_groups) {
    ptx::setmaxnreg_inc<kMultiplierRegisters>();
    multiply_segments<kConfig>(params, work, grid, shared, warp_group, tid);
    return;
  }
  ptx::setmaxnreg_dec<kProducerRegisters>();
  switch (warp % kWarpGroupWarps) {
    case 0: fill_weights<kConfig>(params, work, grid, shared); break;
    case 1: fill_groups<kConfig>(params, work, grid, shared, tid % kWarpLanes); break;
    case 2:
      ptx::griddepcontrol_wait();
      fill_activations<kConfig>(params, work, grid, shared);
      break;
  }
}

}  // namespace cubind
