// What one warp group computes: blocks x 64 weight rows by tile_m tokens, over its way's share of each stage's units.
//
//   stage (shared)                         registers
//   weights   unit: 16 bytes a lane   ->   words        ->  dequantize, scale  ->  A fragments, two buffers --+
//   scales, zeros of the unit         ->   FoldedInt4, or RowScales, Int4Offsets                              |
//   activations, swizzled             -------------------------------------------->  wgmma, from shared  <----+
//                                                                                       |  accumulators
//
// A batch is the wgmmas over kBatchSteps x 16 k of all blocks. While one batch runs, the fragments of the next are made
// in the other buffer; before that, the batch that used this buffer must be complete. So at most two are in flight, and
// the activations of a stage are free once the second batch of the next stage begins.
#pragma once

#include "codegen/device/dequant/int4.cuh"
#include "codegen/device/dequant/scales.cuh"
#include "codegen/device/pipeline/stage_ring.cuh"
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/shared_memory.cuh"
#include "codegen/device/ptx/shfl.cuh"
#include "codegen/device/ptx/wgmma.cuh"
#include "codegen/device/ptx/wgmma_descriptor.cuh"
#include "codegen/device/tile/number.cuh"
#include "codegen/device/tile/wgmma_layout.cuh"
#include "codegen/device/tile/work_range.cuh"

namespace cubind {

template <GemmConfig kConfig>
class WgmmaTile {
 public:
  static constexpr WgmmaLayout kSmem = wgmma_layout(kConfig);
  static constexpr unsigned kBlocks = kSmem.blocks;
  static constexpr unsigned kSums = kConfig.tile_m / 2;  // of a thread and block
  static constexpr unsigned kWayUnits = kSmem.units / kSmem.ways;
  static constexpr unsigned kBatchSteps = kWayUnits % 2 == 0 ? 4 : 2;

  CUBIND_DEVICE WgmmaTile(const GemmParams& params, unsigned shared, unsigned row_group, unsigned way, unsigned warp,
                          unsigned lane)
      : lane_(lane), scales_at_end_(kConfig.scale_class == ScaleClass::g64_plus && params.k_groups == 1) {
    const unsigned panel = row_group * kBlocks * kWarpGroupWarps + warp, unit = way * kWayUnits;
    weights_ = shared + kSmem.weights + (panel * kSmem.units + unit) * unit_bytes(kConfig.weight_bits) + lane * 16;
    scales_ = shared + kSmem.scales + (panel * kSmem.units + unit) * kSmem.groups * kGroupScaleBytes + lane / 4 * 4;
    zeros_ = shared + kSmem.zeros + (panel * kSmem.units + unit) * kSmem.groups * kGroupZeroBytes + lane / 4 * 2;
    activations_ = ptx::wgmma_descriptor_at(ptx::wgmma_descriptor(ptx::Swizzle::bytes_128, 8 * kUnitK * 2),
                                            ptx::shfl_idx(shared + unit * kSmem.unit_activations, 0));
  }

  // sums = the segment's products. Waits for each stage to be full, and gives it back to the producers.
  CUBIND_DEVICE void multiply_segment(float (&sums)[kBlocks][kSums], StageRing<kConfig.stages>& ring,
                                      const Segment& segment) const {
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      CUBIND_UNROLL
      for (unsigned i = 0; i < kSums; ++i) sums[b][i] = 0.0f;
    }
    unsigned fragments[2][kBlocks][kBatchSteps][4];
    unsigned used = 0;  // the empty barrier of the stage before, if any
    CUBIND_NO_UNROLL
    for (unsigned step = segment.step_begin; step < segment.step_end; ++step) {
      const unsigned stage = ring.stage() * kSmem.stage_bytes;
      ring.wait_full();
      CUBIND_UNROLL
      for (unsigned unit = 0; unit < kWayUnits; ++unit) {
        UnitData data;
        load_unit(data, stage, unit);
        multiply_unit(sums, fragments, data, stage, unit, used);
      }
      used = ring.empty();
      ring.advance();
    }
    ptx::wgmma_wait_group<0>();
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) ptx::wgmma_hold(sums[b]);
    release(used);
  }

 private:
  using Dequant = Int4<kConfig.activation>;
  static constexpr bool kFolded = folds_scales(kConfig);
  using Scales = RowScales<kConfig.activation, false>;
  static constexpr unsigned kBatches = kUnitSteps / kBatchSteps;
  static_assert(kBatches % 2 == 0 || kWayUnits % 2 == 0);
  static constexpr unsigned kGroupSteps = kUnitSteps / kSmem.groups;

  // A warp's part of a unit, as it lies in the stage.
  struct UnitData {
    unsigned words[kBlocks][kUnitSteps], pairs[kBlocks][kSmem.groups], zeros[kBlocks][kSmem.groups];
  };

  CUBIND_DEVICE void release(unsigned empty) const {
    ptx::bar_warp_sync();  // the lane that arrives vouches for all
    if (empty != 0 && lane_ == 0) ptx::mbarrier_arrive(empty);
  }

  CUBIND_DEVICE void load_unit(UnitData& data, unsigned stage, unsigned unit) const {
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      const unsigned slot = b * kWarpGroupWarps * kSmem.units + unit;
      ptx::ld_shared_v4_u32(data.words[b], stage + weights_ + slot * unit_bytes(kConfig.weight_bits));
      CUBIND_UNROLL
      for (unsigned group = 0; group < kSmem.groups; ++group) {
        data.pairs[b][group] = ptx::ld_shared_u32(stage + scales_ + (slot * kSmem.groups + group) * kGroupScaleBytes);
        if constexpr (kConfig.zero_points) {
          data.zeros[b][group] = ptx::ld_shared_u16(stage + zeros_ + (slot * kSmem.groups + group) * kGroupZeroBytes);
        }
      }
    }
  }

  CUBIND_DEVICE void multiply_unit(float (&sums)[kBlocks][kSums], unsigned (&fragments)[2][kBlocks][kBatchSteps][4],
                                   const UnitData& data, unsigned stage, unsigned way_unit, unsigned used) const {
    Scales scales[kBlocks] = {};
    Int4Offsets offsets[kBlocks] = {};
    FoldedInt4 folded[kBlocks] = {};
    const u64 activations = activations_ + (stage + way_unit * kSmem.unit_activations) / 16;
    CUBIND_UNROLL
    for (unsigned batch = 0; batch < kBatches; ++batch) {
      auto& a = fragments[(way_unit * kBatches + batch) % 2];
      ptx::wgmma_wait_group<1>();
      if (way_unit * kBatches + batch == 1) release(used);
      CUBIND_UNROLL
      for (unsigned s = 0; s < kBatchSteps; ++s) {
        const unsigned step = batch * kBatchSteps + s;
        if (step % kGroupSteps == 0) prepare_group(scales, offsets, folded, data, step / kGroupSteps);
        CUBIND_UNROLL
        for (unsigned b = 0; b < kBlocks; ++b) {
          if constexpr (kFolded) {
            folded[b].dequantize(a[b][s], data.words[b][step]);
          } else {
            Dequant::dequantize(a[b][s], data.words[b][step], offsets[b]);
            scales[b].scale_fragment(a[b][s]);
          }
        }
      }
      CUBIND_UNROLL
      for (unsigned b = 0; b < kBlocks; ++b) {
        CUBIND_UNROLL
        for (unsigned s = 0; s < kBatchSteps; ++s) ptx::wgmma_hold(a[b][s]);
      }
      ptx::wgmma_fence();
      CUBIND_UNROLL
      for (unsigned s = 0; s < kBatchSteps; ++s) {
        CUBIND_UNROLL
        for (unsigned b = 0; b < kBlocks; ++b) {
          const u64 x = activations + (batch * kBatchSteps + s) * (kMmaK * 2 / 16);
          if constexpr (kConfig.activation == DType::bf16) {
            ptx::wgmma_m64k16_bf16(sums[b], a[b][s], x);
          } else {
            ptx::wgmma_m64k16_f16(sums[b], a[b][s], x);
          }
        }
      }
      ptx::wgmma_commit_group();
    }
  }

  CUBIND_DEVICE void prepare_group(Scales (&scales)[kBlocks], Int4Offsets (&offsets)[kBlocks],
                                   FoldedInt4 (&folded)[kBlocks], const UnitData& data, unsigned group) const {
    CUBIND_UNROLL
    for (unsigned b = 0; b < kBlocks; ++b) {
      const unsigned pair = scales_at_end_ ? Number<kConfig.activation>::kOne2 : data.pairs[b][group];
      if constexpr (kFolded) {
        folded[b] = FoldedInt4::from_pair(pair);
      } else {
        scales[b] = Scales::template from_pair<Dequant::kFactor>(pair);
        if constexpr (kConfig.zero_points) {
          offsets[b] = Dequant::from_zeros(data.zeros[b][group]);
        } else {
          offsets[b] = Dequant::symmetric();
        }
      }
    }
  }

  unsigned lane_, weights_, scales_, zeros_;  // addresses of this thread's first, in the first stage
  u64 activations_;
  bool scales_at_end_;
};

}  // namespace cubind
