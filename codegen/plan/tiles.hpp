// The shapes of the catalogue, as constants: the planner makes configs of them at run time, the emulator instantiates
// them all.
#pragma once

#include "codegen/device/config.cuh"

namespace cubind {

struct TileShape {
  unsigned m, n, k, stages, warps_n, warps_m, warps_k;

  constexpr void put_into(GemmConfig& config) const {
    config.tile_m = m;
    config.tile_n = n;
    config.tile_k = k;
    config.stages = stages;
    config.warps_n = warps_n;
    config.warps_m = warps_m;
    config.warps_k = warps_k;
  }
};

// A stage is m * k * 2 bytes of activations and n * k / 2 of weights: decode tiles take many k (bytes in flight, every
// warp its own slice of k), prefill tiles few. A warp of 64 rows x 64 tokens (128 accumulators) is the largest that
// does not spill; warps along m unpack the same weights again, so those along n come first. Chosen from 27 shapes
// measured on an H200: with these 12, no layer and m of the sweep is more than 7 % slower than with all 27, 0.15 % on
// average.
inline constexpr TileShape kAsyncTiles[] = {
    {8, 32, 512, 4, 1, 1, 8},    // small layers, also well above its m
    {8, 64, 256, 5, 2, 1, 4},    //
    {8, 128, 256, 4, 2, 1, 4},   // large n: fewest reads of the activations
    {16, 32, 256, 6, 1, 1, 4},   // small layers up to 100 tokens
    {24, 64, 128, 5, 2, 1, 2},   //
    {32, 32, 256, 5, 1, 1, 4},   // small n; needs the shared memory of sm_80, 90, 100
    {32, 64, 128, 5, 2, 1, 2},   //
    {48, 64, 128, 4, 2, 1, 2},   //
    {64, 64, 128, 4, 2, 1, 2},   // small n
    {64, 128, 64, 5, 4, 1, 1},   // and prefill of small n
    {96, 128, 64, 4, 4, 1, 1},   // fills the last round where 64 or 128 do not
    {128, 128, 64, 4, 2, 2, 1},  // prefill
};

// sm_75: plain copies through two stages, 64 KB.
inline constexpr TileShape kSm75Tiles[] = {
    {8, 64, 256, 2, 2, 1, 4}, {16, 64, 256, 2, 2, 1, 4}, {32, 64, 128, 2, 2, 1, 2},
    {64, 64, 64, 2, 2, 2, 1}, {64, 128, 64, 2, 4, 1, 1}, {128, 64, 64, 2, 2, 2, 1},
};

// sm_90a: wgmma from nine tokens on. 64 rows that four warp groups share along k where that fills the device, 256 rows
// where n is large: activations are then read a quarter as often. Prefill: 128 rows, and as many tokens as registers
// allow. Up to eight tokens, and up to 16 for small layers, mma.sync.
inline constexpr TileShape kWgmmaTiles[] = {
    {16, 64, 512, 4, 4, 1, 4},  {32, 64, 256, 5, 4, 1, 4},   {32, 256, 128, 7, 16, 1, 1},
    {48, 64, 256, 6, 4, 1, 4},  {64, 64, 256, 4, 4, 1, 4},   {64, 256, 128, 5, 16, 1, 1},
    {96, 128, 128, 4, 8, 1, 1}, {128, 128, 128, 4, 8, 1, 1}, {256, 128, 64, 5, 8, 1, 1},
};
inline constexpr TileShape kBesideWgmmaTiles[] = {
    {8, 32, 512, 4, 1, 1, 8},
    {8, 128, 256, 4, 2, 1, 4},
    {16, 32, 256, 6, 1, 1, 4},
};

}  // namespace cubind
