// Where a stage's bytes come from: every 16-byte chunk that this thread copies for a k tile, with its place in the
// stage and whether it exists. Chunks that do not exist (tokens from m on, k from K on, rows from np on, units from kp
// on, groups from kg on) are zero-filled, not skipped: padding times an uninitialised NaN would be NaN.
//
//   activations  x        [m, k], row stride ldx          ->  [tile_m][tile_k], swizzled
//   weights      weights  [np / 16][kp / 64] units        ->  [panels][units]
//   scales       scales   [np / 16][kg][8][2]             ->  [panels][units][groups of a unit][8][2]
//   zeros        zeros    the same in bytes               ->  the same
//
// A thread goes through its block's k tiles in order, so what it keeps are pointers that advance.
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
  static constexpr unsigned kThreads = kConfig.threads();
  static constexpr unsigned kUnitChunks = unit_bytes(kConfig.weight_bits) / kChunkBytes;
  static constexpr unsigned kSlots = kSmem.panels * kSmem.units * kSmem.groups;
  using XGrid = ChunkGrid<kConfig.tile_m, kConfig.tile_k * 2 / kChunkBytes, kThreads>;
  using WeightGrid = ChunkGrid<kSmem.panels, kSmem.units * kUnitChunks, kThreads>;
  static constexpr unsigned kScaleSteps = ceil_div(kSlots * kGroupScaleBytes / kChunkBytes, kThreads);
  static constexpr unsigned kZeroSteps =
      kConfig.zero_points ? ceil_div(kSlots * kGroupZeroBytes / kChunkBytes, kThreads) : 0;
  static constexpr unsigned kSteps = XGrid::kSteps + WeightGrid::kSteps + kScaleSteps + kZeroSteps;

  // Begins at k tile `k_tile`.
  CUBIND_DEVICE StageSource(const GemmParams& params, unsigned tid, unsigned k_tile)
      : params_(params), tid_(tid), k_(k_tile * kConfig.tile_k), panel_(ptx::ctaid_x() * kSmem.panels) {
    const unsigned token = ptx::ctaid_y() * kConfig.tile_m + XGrid::first_row(tid);
    const unsigned x_k = k_ + XGrid::column(tid) * 8;
    x_ = static_cast<const char*>(params.x) + (static_cast<u64>(token) * params.ldx + x_k) * 2;
    x_step_ = params.ldx * (XGrid::kRowStep * 2);
    tokens_left_ = left(params.m, token);

    const unsigned panel = panel_ + WeightGrid::first_row(tid), units = ceil_div(params.k, kUnitK);
    weights_ = static_cast<const char*>(params.weights) +
               (static_cast<u64>(panel) * units + k_ / kUnitK) * (kUnitChunks * kChunkBytes) +
               WeightGrid::column(tid) * kChunkBytes;
    weights_step_ = units * (WeightGrid::kRowStep * kUnitChunks * kChunkBytes);
    panels_left_ = left(ceil_div(params.n, kUnitRows), panel);
  }

  // On to the next k tile.
  CUBIND_DEVICE void advance() {
    k_ += kConfig.tile_k;
    x_ += kConfig.tile_k * 2;
    weights_ += kSmem.units * kUnitChunks * kChunkBytes;
  }

  // visit(step, place, from, exists): step counts 0 .. kSteps - 1 and is a constant once the loops are unrolled; place
  // is the chunk's address in the stage at `stage`.
  template <class Visit>
  CUBIND_DEVICE void visit_chunks(unsigned stage, Visit visit) const {
    visit_activations(stage + kSmem.activations, visit);
    visit_weights(stage + kSmem.weights, visit);
    visit_groups<kScaleSteps, kGroupScaleBytes>(params_.scales, stage + kSmem.scales,
                                                XGrid::kSteps + WeightGrid::kSteps, visit);
    if constexpr (kConfig.zero_points) {
      visit_groups<kZeroSteps, kGroupZeroBytes>(params_.zeros, stage + kSmem.zeros,
                                                XGrid::kSteps + WeightGrid::kSteps + kScaleSteps, visit);
    }
  }

 private:
  static CUBIND_DEVICE unsigned left(unsigned end, unsigned begin) { return end > begin ? end - begin : 0; }

  template <class Visit>
  CUBIND_DEVICE void visit_activations(unsigned place, Visit visit) const {
    const unsigned first_row = XGrid::first_row(tid_), column = XGrid::column(tid_);
    const unsigned tokens = k_ + column * 8 < params_.k ? tokens_left_ : 0;
    CUBIND_UNROLL
    for (unsigned i = 0; i < XGrid::kSteps; ++i) {
      if (!XGrid::has(tid_, i)) continue;
      const unsigned row = first_row + i * XGrid::kRowStep;
      visit(i, place + row * (kConfig.tile_k * 2) + swizzled_chunk(row, column) * kChunkBytes,
            x_ + static_cast<u64>(x_step_) * i, i * XGrid::kRowStep < tokens);
    }
  }

  template <class Visit>
  CUBIND_DEVICE void visit_weights(unsigned place, Visit visit) const {
    const unsigned first_row = WeightGrid::first_row(tid_), column = WeightGrid::column(tid_);
    const unsigned panels = k_ + column / kUnitChunks * kUnitK < params_.k ? panels_left_ : 0;
    CUBIND_UNROLL
    for (unsigned i = 0; i < WeightGrid::kSteps; ++i) {
      if (!WeightGrid::has(tid_, i)) continue;
      const unsigned row = first_row + i * WeightGrid::kRowStep;
      visit(XGrid::kSteps + i, place + (row * kSmem.units * kUnitChunks + column) * kChunkBytes,
            weights_ + static_cast<u64>(weights_step_) * i, i * WeightGrid::kRowStep < panels);
    }
  }

  template <unsigned kGroupSteps, unsigned kGroupBytes, class Visit>
  CUBIND_DEVICE void visit_groups(const void* groups, unsigned place, unsigned first_step, Visit visit) const {
    constexpr unsigned kParts = kGroupBytes / kChunkBytes, kPanelSlots = kSmem.units * kSmem.groups;
    CUBIND_UNROLL
    for (unsigned i = 0; i < kGroupSteps; ++i) {
      const unsigned chunk = tid_ + i * kThreads;
      if (chunk >= kSlots * kParts) continue;
      const unsigned panel = panel_ + chunk / kParts / kPanelSlots;
      const unsigned k = k_ + chunk / kParts % kPanelSlots * (kUnitK / kSmem.groups);
      const char* from = static_cast<const char*>(groups) +
                         (static_cast<u64>(panel) * params_.k_groups + (k >> params_.group_shift)) * kGroupBytes +
                         chunk % kParts * kChunkBytes;
      visit(first_step + i, place + chunk * kChunkBytes, from, panel * kUnitRows < params_.n && k < params_.k);
    }
  }

  const GemmParams& params_;
  const unsigned tid_;
  unsigned k_;                          // first of the current k tile
  const unsigned panel_;                // first of the block
  const char *x_, *weights_;            // this thread's first chunk of the current k tile
  unsigned x_step_, weights_step_;      // bytes to the chunk of the next step
  unsigned tokens_left_, panels_left_;  // from that first chunk to the end of the tensor
};

}  // namespace cubind
