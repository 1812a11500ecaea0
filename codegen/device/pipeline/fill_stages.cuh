// What fills the stages of GemmKernel::wgmma, one warp each: weights and activations by the copy engine as boxes of
// their tensor maps (weights also as long runs), scales and zero points by cp.async, 16 bytes a lane: they are runs of
// 32 and 16 bytes, too short for the copy engine. All walk the same segments.
//
// What does not exist is zero: both maps read zeros outside of their tensor, scales and zero points are zero-filled. So
// products of padding are zero, and no stage needs to know how much of it is real.
//
// Every unit of 64 k gets its own copy of its scales, found by the run-time shift, so that the main loop needs no group
// arithmetic.
#pragma once

#include "codegen/device/pipeline/stage_ring.cuh"
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/cp_async.cuh"
#include "codegen/device/ptx/cp_async_bulk.cuh"
#include "codegen/device/ptx/cp_async_bulk_tensor.cuh"
#include "codegen/device/ptx/elect.cuh"
#include "codegen/device/tile/wgmma_layout.cuh"
#include "codegen/device/tile/work_range.cuh"
#include "protocol/kernel_abi.hpp"

namespace cubind {

// Arrivals at a stage's full barrier: the two that start bulk copies, and the lanes of the third.
inline constexpr unsigned kFillArrivals = 2 + kWarpLanes;

// Bytes of a panel in a stage from which on a copy of its own is faster than a row of the box.
inline constexpr unsigned kLongRun = 4096;

// Of the barrier at which those who fill wait before a next tile until its sums no longer lie over the ring.
inline constexpr unsigned kRingBarrier = 9, kFillWarps = 3;

// fill(step, place, stage, full) for every stage of the block's work, each once it is empty.
template <GemmConfig kConfig, class Fill>
CUBIND_DEVICE void fill_stages(WorkRange work, const TileGrid& grid, unsigned shared, Fill fill) {
  constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  StageRing<kConfig.stages> ring(shared + kSmem.barriers);
  Segment segment;
  bool first = true;
  while (work.next(segment)) {
    if (kSmem.sums_over_ring && !first) ptx::bar_sync(kRingBarrier, (kConfig.warps() + kFillWarps) * kWarpLanes);
    first = false;
    const TilePlace place = grid.place(segment.tile);
    CUBIND_NO_UNROLL
    for (unsigned step = segment.step_begin; step < segment.step_end; ++step) {
      ring.wait_empty();
      fill(step, place, shared + ring.stage() * kSmem.stage_bytes, ring.full());
      ring.advance();
    }
  }
}

template <GemmConfig kConfig>
CUBIND_DEVICE void fill_weights(const MappedGemmParams& params, const WorkRange& work, const TileGrid& grid,
                                unsigned shared) {
  constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  constexpr unsigned kUnitBytes = unit_bytes(kConfig.weight_bits);
  // Only where all of the box exists: a run cannot be filled up with zeros.
  constexpr bool kRuns = kSmem.units * kUnitBytes >= kLongRun;
  ptx::prefetch_tensormap(&params.weights_map);
  const unsigned units = ceil_div(params.k, kUnitK), panels = ceil_div(params.n, kUnitRows);
  fill_stages<kConfig>(work, grid, shared, [&](unsigned step, TilePlace place, unsigned stage, unsigned full) {
    if (!ptx::elect_sync()) return;
    ptx::mbarrier_arrive_expect_tx(full, kSmem.scales - kSmem.weights);
    const unsigned unit = step * kSmem.units, panel = place.n * kSmem.panels;
    if (kRuns && unit + kSmem.units <= units && panel + kSmem.panels <= panels) {
      const char* from =
          static_cast<const char*>(params.weights) + (static_cast<u64>(panel) * units + unit) * kUnitBytes;
      CUBIND_UNROLL
      for (unsigned i = 0; i < kSmem.panels; ++i) {
        ptx::cp_async_bulk_shared_global(stage + kSmem.weights + i * (kSmem.units * kUnitBytes),
                                         from + static_cast<u64>(i) * units * kUnitBytes, kSmem.units * kUnitBytes,
                                         full);
      }
    } else {
      ptx::cp_async_bulk_tensor_3d_shared_global(stage + kSmem.weights, &params.weights_map, 0, unit, panel, full);
    }
  });
}

template <GemmConfig kConfig>
CUBIND_DEVICE void fill_activations(const MappedGemmParams& params, const WorkRange& work, const TileGrid& grid,
                                    unsigned shared) {
  ptx::prefetch_tensormap(&params.x_map);
  fill_stages<kConfig>(work, grid, shared, [&](unsigned step, TilePlace place, unsigned stage, unsigned full) {
    constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
    if (!ptx::elect_sync()) return;
    ptx::mbarrier_arrive_expect_tx(full, kSmem.weights);
    CUBIND_UNROLL
    for (unsigned unit = 0; unit < kSmem.units; ++unit) {
      ptx::cp_async_bulk_tensor_2d_shared_global(stage + unit * kSmem.unit_activations, &params.x_map,
                                                 (step * kSmem.units + unit) * kUnitK, place.m * kConfig.tile_m, full);
    }
  });
}

// One lane's copies of a stage's [panels][units][groups of a unit] runs of kGroupBytes.
template <GemmConfig kConfig, unsigned kGroupBytes>
CUBIND_DEVICE void copy_groups(const GemmParams& params, const void* groups, unsigned to, unsigned step,
                               TilePlace place, unsigned lane) {
  constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  constexpr unsigned kPanelSlots = kSmem.units * kSmem.groups, kParts = kGroupBytes / kChunkBytes;
  constexpr unsigned kChunks = kSmem.panels * kPanelSlots * kParts;
  CUBIND_NO_UNROLL
  for (unsigned chunk = lane; chunk < kChunks; chunk += kWarpLanes) {
    const unsigned panel = place.n * kSmem.panels + chunk / kParts / kPanelSlots;
    const unsigned k = step * kConfig.tile_k + chunk / kParts % kPanelSlots * (kUnitK / kSmem.groups);
    const char* from = static_cast<const char*>(groups) +
                       (static_cast<u64>(panel) * params.k_groups + (k >> params.group_shift)) * kGroupBytes +
                       chunk % kParts * kChunkBytes;
    const bool exists = panel * kUnitRows < params.n && k < params.k;
    ptx::cp_async_cg_16(to + chunk * kChunkBytes, from, exists ? kChunkBytes : 0);
  }
}

template <GemmConfig kConfig>
CUBIND_DEVICE void fill_groups(const GemmParams& params, const WorkRange& work, const TileGrid& grid, unsigned shared,
                               unsigned lane) {
  fill_stages<kConfig>(work, grid, shared, [&](unsigned step, TilePlace place, unsigned stage, unsigned full) {
    constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
    copy_groups<kConfig, kGroupScaleBytes>(params, params.scales, stage + kSmem.scales, step, place, lane);
    if constexpr (kConfig.zero_points) {
      copy_groups<kConfig, kGroupZeroBytes>(params, params.zeros, stage + kSmem.zeros, step, place, lane);
    }
    ptx::cp_async_mbarrier_arrive_noinc(full);
  });
}

}  // namespace cubind
