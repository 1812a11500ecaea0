// What GemmConfig accepts and what follows from it.
#include "codegen/device/config.cuh"

#include <gtest/gtest.h>

#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/plan/tiles.hpp"

namespace cubind {
namespace {

TEST(GemmConfig, DefaultAndCatalogueAreWellFormed) {
  EXPECT_TRUE(GemmConfig{}.well_formed());
  for (const TileShape& tile : kAsyncTiles) {
    GemmConfig config;
    tile.put_into(config);
    EXPECT_TRUE(config.well_formed()) << tile.m << " x " << tile.n << " x " << tile.k;
  }
  for (const TileShape& tile : kSm75Tiles) {
    GemmConfig config{.activation = DType::f16, .mma = MmaKind::mma_m16n8k8, .async_copy = false};
    tile.put_into(config);
    EXPECT_TRUE(config.well_formed()) << tile.m << " x " << tile.n << " x " << tile.k;
    EXPECT_LE(smem_bytes(config), 65536u);
  }
}

TEST(GemmConfig, WgmmaTilesAreWellFormedAndFitEverywhere) {
  for (const TileShape& tile : kWgmmaTiles) {
    for (const ScaleClass scales : {ScaleClass::g32, ScaleClass::g64_plus}) {
      GemmConfig config{
          .kernel = GemmKernel::wgmma, .zero_points = true, .scale_class = scales, .mma = MmaKind::wgmma_m64k16};
      tile.put_into(config);
      EXPECT_TRUE(config.well_formed()) << tile.m << " x " << tile.n << " x " << tile.k;
      EXPECT_TRUE(config.threads() == 384 || config.threads() == 640);
      EXPECT_EQ(config.min_blocks(), 1u);
      EXPECT_LE(smem_bytes(config), 227u * 1024);
      EXPECT_GT(smem_bytes(config), 114u * 1024) << "a second block must not come to the same multiprocessor";
    }
  }
  const auto with = [](auto change) {
    GemmConfig config{.kernel = GemmKernel::wgmma, .mma = MmaKind::wgmma_m64k16};
    TileShape{64, 128, 128, 6, 8, 1, 1}.put_into(config);
    change(config);
    return config.well_formed();
  };
  EXPECT_TRUE(with([](GemmConfig&) {}));
  EXPECT_FALSE(with([](GemmConfig& c) { c.mma = MmaKind::mma_m16n8k16; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.kernel = GemmKernel::mma_sync; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_m = 40; }));   // wgmma has no such n
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_m = 24; }));   // not whole slabs
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_n = 192; }));  // not two warp groups of 64 rows
  EXPECT_FALSE(with([](GemmConfig& c) { c.warps_n = 6; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.warps_k = 4; }));                 // threads
  EXPECT_FALSE(with([](GemmConfig& c) { c.warps_n = 4, c.warps_k = 3; }));  // 128 k in three parts
  EXPECT_TRUE(with([](GemmConfig& c) { c.warps_k = 2; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_m = 256, c.tile_n = 256; }));  // more accumulators than registers
}

TEST(WgmmaLayout, IsTheSumOfItsParts) {
  GemmConfig config{
      .kernel = GemmKernel::wgmma, .zero_points = true, .scale_class = ScaleClass::g32, .mma = MmaKind::wgmma_m64k16};
  TileShape{32, 128, 128, 6, 8, 1, 2}.put_into(config);
  const WgmmaLayout l = wgmma_layout(config);
  EXPECT_EQ(l.warp_groups, 4u);
  EXPECT_EQ(l.weights, 32u * 128 * 2);
  EXPECT_EQ(l.scales, l.weights + 128 * 128 / 2);
  EXPECT_EQ(l.zeros, l.scales + 8 * 2 * 2 * 32);
  EXPECT_EQ(l.stage_bytes % 1024, 0u);
  EXPECT_GE(l.stage_bytes, l.zeros + 8 * 2 * 2 * 16);
  EXPECT_FALSE(l.sums_over_ring);
  EXPECT_EQ(l.sums, 6 * l.stage_bytes);
  // Of each 64 rows: a slab of 16 tokens from seven others, if four blocks of two ways share the tile.
  EXPECT_EQ(l.staging, l.sums + 2 * 7 * 16 * 64 * 4);
  EXPECT_EQ(l.barriers, l.staging + 4 * 2 * 16 * (64 * 2 + 16));
  EXPECT_EQ(smem_bytes(config), l.barriers + 6 * 16 + 1024);
}

TEST(WgmmaLayout, SumsOfManyTokensLieOverTheRing) {
  GemmConfig config{.kernel = GemmKernel::wgmma, .mma = MmaKind::wgmma_m64k16};
  TileShape{64, 64, 256, 4, 4, 1, 4}.put_into(config);
  const WgmmaLayout l = wgmma_layout(config);
  EXPECT_TRUE(l.sums_over_ring);
  EXPECT_EQ(l.sums, 0u);
  EXPECT_EQ(l.staging, 4 * l.stage_bytes);
  config.stages = 1;  // less than the sums
  EXPECT_EQ(wgmma_layout(config).staging, 15u * 16 * 64 * 4);
}

TEST(WgmmaLayout, WhatIsNotSplitKeepsNoSums) {
  GemmConfig config{.kernel = GemmKernel::wgmma, .mma = MmaKind::wgmma_m64k16};
  TileShape{256, 128, 64, 5, 8, 1, 1}.put_into(config);
  EXPECT_FALSE(config.can_split());
  EXPECT_EQ(wgmma_layout(config).staging, 5 * wgmma_layout(config).stage_bytes);
}

TEST(GemmConfig, WhatTheKernelCannotDoIsNotWellFormed) {
  const auto with = [](auto change) {
    GemmConfig config;
    change(config);
    return config.well_formed();
  };
  EXPECT_FALSE(with([](GemmConfig& c) { c.activation = DType::e4m3; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.mma = MmaKind::mma_m16n8k8; }));  // has no bf16
  EXPECT_FALSE(with([](GemmConfig& c) { c.weight_bits = 8; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_m = 12; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_n = 40; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_k = 128; }));  // four warps along k share units of 64
  EXPECT_FALSE(with([](GemmConfig& c) { c.stages = 1; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.async_copy = false; }));  // four stages
  EXPECT_FALSE(with([](GemmConfig& c) { c.warps_n = 0; }));
  EXPECT_FALSE(with([](GemmConfig& c) { c.warps_n = 16, c.tile_n = 256; }));  // 2048 threads
  EXPECT_FALSE(with([](GemmConfig& c) { c.tile_k = 512; }));                  // more chunks in a panel than threads
}

TEST(GemmConfig, BlocksOnAMultiprocessorFollowTheRegisters) {
  GemmConfig few{.tile_m = 8, .tile_n = 64, .tile_k = 256, .stages = 5, .warps_m = 1, .warps_n = 2, .warps_k = 4};
  EXPECT_EQ(few.accumulators(), 8u);
  EXPECT_EQ(few.min_blocks(), 2u);
  GemmConfig many{.tile_m = 128, .tile_n = 128, .tile_k = 64, .stages = 4, .warps_m = 2, .warps_n = 2, .warps_k = 1};
  EXPECT_EQ(many.accumulators(), 128u);
  EXPECT_EQ(many.min_blocks(), 2u);
}

TEST(SmemLayout, IsTheSumOfItsParts) {
  const GemmConfig config{
      .zero_points = true, .scale_class = ScaleClass::g32, .tile_m = 16, .tile_n = 64, .tile_k = 256, .stages = 4};
  const SmemLayout l = smem_layout(config);
  EXPECT_EQ(l.weights, 16u * 256 * 2);
  EXPECT_EQ(l.scales, l.weights + 64 * 256 / 2);
  EXPECT_EQ(l.zeros, l.scales + 64 * (256 / 32) * 2);
  EXPECT_EQ(l.stage_bytes, l.zeros + 64 * (256 / 32));
  EXPECT_EQ(smem_bytes(config), 4 * l.stage_bytes);
}

TEST(SmemLayout, HoldsTheSumsWhereTheyNeedMoreThanTheStages) {
  const GemmConfig config{
      .tile_m = 128, .tile_n = 64, .tile_k = 64, .stages = 2, .warps_m = 1, .warps_n = 2, .warps_k = 1};
  EXPECT_GE(smem_bytes(config), 128u * 64 * 4);
  const GemmConfig narrow{.tile_m = 8, .tile_n = 128, .tile_k = 256, .stages = 2, .warps_n = 2, .warps_k = 4};
  EXPECT_EQ(smem_bytes(narrow), std::max(2 * smem_layout(narrow).stage_bytes, smem_layout(narrow).arrival + 16));
}

}  // namespace
}  // namespace cubind
