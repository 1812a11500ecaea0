// Weight-quantized GEMM through mma.sync: out[m, n] = sum over k of x[m, k] * s[n, k / group] * (q[n, k] - z) (+ bias).
//
//   global                          shared: ring of stages           registers
//   x        [m, k]          ---->  [tile_m][tile_k]        ---->   B fragments --+
//   weights  [np/16][kp/64]  ---->  [panels][units]         ---->   A fragments --+-> MMA -> accumulators
//   scales, zeros            ---->  a copy for each unit    ---->   of a row pair      (warp_tile.cuh) |
//                                                                                                      |
//   out      [m, n]          <----  sums [warps_k][tile_m][tile_n] f32 (block_sums.cuh)  <-------------+
//                        ^--------- sums of other blocks through the workspace: split-K (split_k.cuh)
//
// A block computes tile_n features x tile_m tokens over its split's k tiles. All threads copy and all warps multiply.
//
// Barriers (all bar.sync of the whole block):
//   at the start of step i   arrive: every thread, its copies of step i's stage done (wait) and its reads of step i -
//   1's
//                            stage done. After it stage i may be read, and the stage of step i - 1 refilled.
//   after the loop           arrive: every thread, all copies done and all reads done. After it sums may overlay the
//   ring. after write_sums         the sums of all warps may be read. two more in split-K      see split_k.cuh.
#pragma once

#include "codegen/device/epilogue/block_sums.cuh"
#include "codegen/device/epilogue/output.cuh"
#include "codegen/device/epilogue/split_k.cuh"
#include "codegen/device/mainloop/warp_tile.cuh"
#include "codegen/device/pipeline/stage_copy.cuh"
#include "codegen/device/ptx/bar.cuh"

namespace cubind {

// The next `count` k tiles of the source into warp_tile.
template <GemmConfig kConfig>
CUBIND_DEVICE void multiply_k_tiles(WarpTile<kConfig>& warp_tile, StageSource<kConfig> source, unsigned ring,
                                    unsigned count) {
  constexpr unsigned kStageBytes = smem_layout(kConfig).stage_bytes, kRingBytes = kConfig.stages * kStageBytes;
  StageCopy<kConfig> copy;
  CUBIND_UNROLL
  for (unsigned i = 0; i < kConfig.stages - 1; ++i) {
    if (i < count) {
      copy.begin(source, ring + i * kStageBytes);
      copy.end(source, ring + i * kStageBytes);
      source.advance();
    }
    copy.commit();
  }

  unsigned full = 0, empty = kRingBytes - kStageBytes;  // offsets of the stage to read and of the stage to fill
  CUBIND_NO_UNROLL
  for (unsigned i = 0; i < count; ++i) {
    copy.wait();
    ptx::bar_sync();  // stage `full` is complete; nobody reads stage `empty` any more
    const bool more = i + kConfig.stages - 1 < count;
    if (more) copy.begin(source, ring + empty);
    copy.commit();
    warp_tile.multiply(ring + full);
    if (more) copy.end(source, ring + empty);
    source.advance();
    empty = full;
    full = full + kStageBytes == kRingBytes ? 0 : full + kStageBytes;
  }
  ptx::bar_sync();  // nobody reads the ring any more, and no copy is in flight: step count - 1 has waited for the last
}

template <GemmConfig kConfig>
CUBIND_DEVICE void gemm_mma_sync(const GemmParams& params) {
  static_assert(kConfig.well_formed());
  using Pieces = PieceMap<kConfig>;
  const unsigned tid = ptx::tid_x(), shared = ptx::dynamic_shared();

  const unsigned k_tiles = ceil_div(params.k, kConfig.tile_k), split = ptx::ctaid_z();
  const unsigned first = split * params.k_tiles_per_split;
  const unsigned left = first < k_tiles ? k_tiles - first : 0;
  const unsigned count = left < params.k_tiles_per_split ? left : params.k_tiles_per_split;

  WarpTile<kConfig> warp_tile(params, tid);
  multiply_k_tiles(warp_tile, StageSource<kConfig>(params, tid, first), shared, count);
  write_sums(warp_tile, shared);
  ptx::bar_sync();

  const unsigned block_token = ptx::ctaid_y() * kConfig.tile_m, block_row = ptx::ctaid_x() * kConfig.tile_n;
  const unsigned tokens = params.m - block_token < kConfig.tile_m ? params.m - block_token : kConfig.tile_m;
  const unsigned row = Pieces::first_row(tid);
  float piece[kPieceRows];
  if (params.splits == 1) {
    const Output<kConfig> output(params, block_row + row);
    for (unsigned token = Pieces::first_token(tid); token < tokens; token += Pieces::kTokenStep) {
      read_sums<kConfig>(piece, shared, token, row);
      output.store(piece, block_token + token);
    }
    return;
  }

  SplitWorkspace<kConfig> workspace(params);
  for (unsigned token = Pieces::first_token(tid); token < tokens; token += Pieces::kTokenStep) {
    read_sums<kConfig>(piece, shared, token, row);
    workspace.write(piece, split, token, row);
  }
  if (!workspace.arrive_last(tid, shared + smem_layout(kConfig).arrival)) return;
  const Output<kConfig> output(params, block_row + row);
  for (unsigned token = Pieces::first_token(tid); token < tokens; token += Pieces::kTokenStep) {
    workspace.read_total(piece, token, row);
    output.store(piece, block_token + token);
  }
}

}  // namespace cubind
