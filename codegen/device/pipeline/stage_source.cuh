// Where a stage's bytes come from: every 16-byte chunk that this thread copies for one k tile, with its place in the
// stage and whether it exists. Chunks that do not exist (tokens from m on, k from K on, rows from np on, units from kp
// on, groups from kg on) are zero-filled, not skipped: padding times an uninitialised NaN would be NaN.
//
//   activations  x        [m, k], row stride ldx          ->  [tile_m][tile_k], swizzled
//   weights      weights  [np / 16][kp / 64] units        ->  [panels][units]
//   scales       scales   [np / 16][kg][8][2]             ->  [panels][units][groups of a unit][8][2]
//   zeros        zeros    the same in bytes               ->  the same
#pragma once

#include "codegen/device/pipeline/chunk_grid.cuh"
#include "codegen/device/ptx/special_registers.cuh"
#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/device/tile/swizzle.cuh"
#include "protocol/kernel_abi.hpp"

namespace cubind {

template <GemmConfig kConfig>
class StageSource {
 public:
  static constexpr SmemLayout kSmem = smem_layout(kConfig);
  static constexpr unsigned kSlots = kSmem.panels * kSmem.units * kSmem.groups;
  using XGrid = ChunkGrid<kConfig.tile_m, kConfig.tile_k * 2 / kChunkBytes, kConfig.threads()>;
  using WeightGrid =
      ChunkGrid<kSmem.panels, kSmem.units * unit_bytes(kConfig.weight_bits) / kChunkBytes, kConfig.threads()>;
  static constexpr unsigned kScaleSteps = ceil_div(kSlots * kGroupScaleBytes / kChunkBytes, kConfig.threads());
  static constexpr unsigned kZeroSteps =
      kConfig.zero_points ? ceil_div(kSlots * kGroupZeroBytes / kChunkBytes, kConfig.threads()) : 0;
  static constexpr unsigned kSteps = XGrid::kSteps + WeightGrid::kSteps + kScaleSteps + kZeroSteps;

  CUBIND_DEVICE StageSource(const GemmParams& params, unsigned tid)
      : params_(params),
        tid_(tid),
        first_token_(ptx::ctaid_y() * kConfig.tile_m),
        first_panel_(ptx::ctaid_x() * kSmem.panels),
        panels_(ceil_div(params.n, kUnitRows)),
        units_(ceil_div(params.k, kUnitK)) {}

  // visit(step, place, from, exists): step counts 0 .. kSteps - 1 and is a constant once the loops are unrolled; place
  // is the chunk's address in the stage at `stage`.
  template <class Visit>
  CUBIND_DEVICE void visit_chunks(unsigned k_tile, unsigned stage, Visit visit) const {
    visit_activations(k_tile, stage + kSmem.activations, visit);
    visit_weights(k_tile, stage + kSmem.weights, visit);
    visit_groups<kScaleSteps, kGroupScaleBytes>(params_.scales, k_tile, stage + kSmem.scales,
                                                XGrid::kSteps + WeightGrid::kSteps, visit);
    if constexpr (kConfig.zero_points) {
      visit_groups<kZeroSteps, kGroupZeroBytes>(params_.zeros, k_tile, stage + kSmem.zeros,
                                                XGrid::kSteps + WeightGrid::kSteps + kScaleSteps, visit);
    }
  }

 private:
  template <class Visit>
  CUBIND_DEVICE void visit_activations(unsigned k_tile, unsigned place, Visit visit) const {
    CUBIND_UNROLL
    for (unsigned i = 0; i < XGrid::kSteps; ++i) {
      const unsigned row = XGrid::row(tid_, i), column = XGrid::column(tid_, i);
      if (!XGrid::has(tid_, i)) continue;
      const unsigned token = first_token_ + row, k = k_tile * kConfig.tile_k + column * 8;
      const char* from = static_cast<const char*>(params_.x) + (static_cast<u64>(token) * params_.ldx + k) * 2;
      visit(i, place + row * (kConfig.tile_k * 2) + swizzled_chunk(row, column) * kChunkBytes, from,
            token < params_.m && k < params_.k);
    }
  }

  template <class Visit>
  CUBIND_DEVICE void visit_weights(unsigned k_tile, unsigned place, Visit visit) const {
    constexpr unsigned kUnitChunks = unit_bytes(kConfig.weight_bits) / kChunkBytes;
    CUBIND_UNROLL
    for (unsigned i = 0; i < WeightGrid::kSteps; ++i) {
      const unsigned row = WeightGrid::row(tid_, i), column = WeightGrid::column(tid_, i);
      if (!WeightGrid::has(tid_, i)) continue;
      const unsigned panel = first_panel_ + row, chunk = k_tile * kSmem.units * kUnitChunks + column;
      const char* from = static_cast<const char*>(params_.weights) +
                         (static_cast<u64>(panel) * (units_ * kUnitChunks) + chunk) * kChunkBytes;
      visit(XGrid::kSteps + i, place + (row * kSmem.units * kUnitChunks + column) * kChunkBytes, from,
            panel < panels_ && chunk < units_ * kUnitChunks);
    }
  }

  template <unsigned kGroupSteps, unsigned kGroupBytes, class Visit>
  CUBIND_DEVICE void visit_groups(const void* groups, unsigned k_tile, unsigned place, unsigned first_step,
                                  Visit visit) const {
    constexpr unsigned kParts = kGroupBytes / kChunkBytes, kPanelSlots = kSmem.units * kSmem.groups;
    CUBIND_UNROLL
    for (unsigned i = 0; i < kGroupSteps; ++i) {
      const unsigned chunk = tid_ + i * kConfig.threads();
      if (chunk >= kSlots * kParts) continue;
      const unsigned panel = first_panel_ + chunk / kParts / kPanelSlots;
      const unsigned k = k_tile * kConfig.tile_k + chunk / kParts % kPanelSlots * (kUnitK / kSmem.groups);
      const char* from = static_cast<const char*>(groups) +
                         (static_cast<u64>(panel) * params_.k_groups + (k >> params_.group_shift)) * kGroupBytes +
                         chunk % kParts * kChunkBytes;
      visit(first_step + i, place + chunk * kChunkBytes, from, panel < panels_ && k < params_.k);
    }
  }

  const GemmParams& params_;
  unsigned tid_, first_token_, first_panel_, panels_, units_;
};

}  // namespace cubind
