#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "codegen/plan/arch_spec.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"
#include "tests/unit/plan/served.hpp"

namespace cubind {
namespace {

using served::kLlama8b;
using served::kOdd;
using served::Layer;

const GemmDescriptor kAwq = served::w4a16(DType::bf16, 128, ZeroPointKind::integer);
constexpr Arch kHopper{90, '\0'};

std::vector<Layer> layers() {
  std::vector<Layer> all(std::begin(kLlama8b), std::end(kLlama8b));
  all.insert(all.end(), std::begin(kOdd), std::end(kOdd));
  return all;
}

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

void expect_launchable(const GemmConfig& config, std::uint32_t splits, std::uint32_t per_split, std::uint32_t n,
                       std::uint32_t k, std::uint32_t m) {
  const auto k_tiles = ceil_div(ceil_div(k, 64) * 64, config.tile_k);
  ASSERT_GE(splits, 1u);
  EXPECT_GE(static_cast<std::uint64_t>(splits) * per_split, k_tiles);
  EXPECT_LT((splits - 1) * per_split, k_tiles) << "the last split has nothing to do";
  const auto tiles_m = ceil_div(m, config.tile_m);
  EXPECT_LE(tiles_m, 65535u);
  if (splits == 1) return;
  EXPECT_LE(static_cast<std::uint64_t>(tiles_m) * ceil_div(n, config.tile_n), kWorkspaceMaxTiles);
  EXPECT_GE(per_split, 2u);
}

// Every target x served descriptor x layer: the table covers [1, max_m] without gaps, with configs that are reachable,
// each of them used, neighbours different, and launches that are possible.
TEST(LaunchTable, LawsHoldEverywhere) {
  for (const auto arch : code_archs()) {
    for (const auto& descriptor : served::descriptors(arch)) {
      for (const auto [n, k] : layers()) {
        for (const std::uint32_t sm_count : {16u, 132u}) {
          for (const std::uint32_t max_m : {1u, 100u, 8192u}) {
            const auto table = launch_table(descriptor, arch, sm_count, n, k, max_m);
            ASSERT_TRUE(table.ok()) << table.error().message;
            const auto allowed = *reachable(descriptor, arch, max_m);
            std::vector<bool> used(table->configs.size());
            std::uint32_t next = 1;
            const LaunchInterval* before = nullptr;
            for (const auto& interval : table->intervals) {
              ASSERT_EQ(interval.m_first, next);
              ASSERT_LE(interval.m_first, interval.m_last);
              next = interval.m_last + 1;
              ASSERT_LT(interval.config, table->configs.size());
              used[interval.config] = true;
              expect_launchable(table->configs[interval.config], interval.splits, interval.k_tiles_per_split, n, k,
                                interval.m_last);
              if (before != nullptr) {
                EXPECT_FALSE(before->config == interval.config && before->splits == interval.splits &&
                             before->k_tiles_per_split == interval.k_tiles_per_split);
              }
              before = &interval;
            }
            EXPECT_EQ(next, max_m + 1);
            for (std::size_t i = 0; i < used.size(); ++i) {
              EXPECT_TRUE(used[i]);
              EXPECT_NE(std::find(allowed.begin(), allowed.end(), table->configs[i]), allowed.end());
              EXPECT_EQ(std::find(table->configs.begin(), table->configs.begin() + static_cast<std::ptrdiff_t>(i),
                                  table->configs[i]),
                        table->configs.begin() + static_cast<std::ptrdiff_t>(i));
            }
          }
        }
      }
    }
  }
}

TEST(LaunchTable, IsWhatPlanSaysAtEveryM) {
  for (const auto& layer : {kLlama8b[0], kLlama8b[3], kOdd[0], kOdd[2]}) {
    const auto table = *launch_table(kAwq, kHopper, 132, layer.n, layer.k, 8192);
    for (const auto& interval : table.intervals) {
      for (std::uint32_t m = interval.m_first; m <= interval.m_last;) {
        const Plan expected{table.configs[interval.config], interval.splits, interval.k_tiles_per_split};
        ASSERT_EQ(*plan(kAwq, kHopper, 132, layer.n, layer.k, m), expected) << m;
        if (m == interval.m_last) break;
        m = std::min(m + (m < 600 ? 1 : 61), interval.m_last);
      }
    }
  }
}

TEST(LaunchTable, OfASmallerMaxMIsABeginningOfTheLargerOne) {
  const auto large = *launch_table(kAwq, kHopper, 132, 6144, 4096, 8192);
  for (const std::uint32_t max_m : {1u, 7u, 17u, 300u, 5000u}) {
    const auto small = *launch_table(kAwq, kHopper, 132, 6144, 4096, max_m);
    for (std::size_t i = 0; i < small.intervals.size(); ++i) {
      auto expected = large.intervals[i];
      expected.m_last = std::min(expected.m_last, max_m);
      EXPECT_EQ(small.intervals[i], expected) << max_m;
    }
  }
}

TEST(LaunchTable, ALayerUsesAtLeastThreeKernels) {
  for (const auto arch : code_archs()) {
    const auto descriptor = served::w4a16(DType::f16, 128, ZeroPointKind::integer);
    for (const auto [n, k] : kLlama8b) {
      for (const std::uint32_t sm_count : {16u, 132u}) {
        EXPECT_GE(launch_table(descriptor, arch, sm_count, n, k, 8192)->configs.size(), 3u)
            << to_string(arch) << " " << n << " x " << k;
      }
    }
  }
}

TEST(LaunchTable, CoversTheLargestM) {
  const auto table = launch_table(kAwq, kHopper, 132, 28672, 4096, limits::kMaxM);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->intervals.back().m_last, limits::kMaxM);
  EXPECT_LE(table->intervals.size(), 32u);
}

TEST(LaunchTable, DoesNotAlternateBetweenPlansThatAreNearlyEqual) {
  for (const auto arch : code_archs()) {
    const auto descriptor = served::w4a16(DType::f16, 128, ZeroPointKind::integer);
    const std::size_t most = arch == kHopper ? 24 : 32;
    for (const auto [n, k] : kLlama8b) {
      EXPECT_LE(launch_table(descriptor, arch, find_arch_spec(arch)->nominal_sm_count, n, k, 8192)->intervals.size(),
                most)
          << to_string(arch) << " " << n << " x " << k;
    }
  }
}

TEST(Plan, OfManyTokensTakesNoSmallTile) {
  for (const auto [n, k] : layers()) {
    for (const std::uint32_t m : {512u, 1000u, 8192u}) {
      EXPECT_GE(plan(kAwq, kHopper, 132, n, k, m)->config.tile_m, 64u) << n << " x " << k << ", m " << m;
    }
  }
}

TEST(Plan, OfOneTokenTakesTheSmallestTile) {
  for (const auto [n, k] : layers()) EXPECT_EQ(plan(kAwq, kHopper, 132, n, k, 1)->config.tile_m, 8u);
}

TEST(Plan, FillsIdleSmsWithSplitsOnly) {
  EXPECT_GT(plan(kAwq, kHopper, 132, 640, 14336, 1)->splits, 1u);
  EXPECT_EQ(plan(kAwq, kHopper, 132, 28672, 4096, 8192)->splits, 1u);
}

TEST(Plan, OfSmCountDeterminismDoesNotDependOnTheDevice) {
  auto descriptor = kAwq;
  descriptor.determinism = Determinism::sm_count;
  for (const auto [n, k] : layers()) {
    for (const std::uint32_t m : {1u, 16u, 100u, 4096u}) {
      const auto one = *plan(descriptor, kHopper, 16, n, k, m);
      EXPECT_EQ(*plan(descriptor, kHopper, 132, n, k, m), one);
      EXPECT_EQ(*plan(descriptor, kHopper, 1000, n, k, m), one);
    }
  }
  // without it, it does: the case that makes the promise worth something
  EXPECT_NE(launch_table(kAwq, kHopper, 16, 4096, 4096, 512)->intervals,
            launch_table(kAwq, kHopper, 132, 4096, 4096, 512)->intervals);
}

TEST(Plan, SuffixesAndMinorVersionsPlanAsTheirCode) {
  const auto of = [](Arch arch) { return *launch_table(kAwq, arch, 100, 6144, 4096, 512); };
  EXPECT_EQ(of({100, 'a'}).intervals, of({100, '\0'}).intervals);
  EXPECT_EQ(of({121, 'f'}).intervals, of({120, '\0'}).intervals);
  EXPECT_EQ(of({87, '\0'}).intervals, of({86, '\0'}).intervals);
}

TEST(Plan, OnSm90aManyTokensGoThroughWgmmaAndAllSplitsRunAtOnce) {
  for (const auto [n, k] : kLlama8b) {
    EXPECT_EQ(plan(kAwq, {90, 'a'}, 132, n, k, 1)->config.kernel, GemmKernel::mma_sync);
    for (const std::uint32_t m : {64u, 96u, 128u, 200u, 1000u, 8192u}) {
      const auto at_m = *plan(kAwq, {90, 'a'}, 132, n, k, m);
      const auto& config = at_m.config;
      EXPECT_EQ(config.kernel, GemmKernel::wgmma) << n << " x " << k << ", m " << m;
      const auto blocks = ceil_div(n, config.tile_n) * ceil_div(m, config.tile_m) * at_m.splits;
      EXPECT_TRUE(at_m.splits == 1 || (config.can_split() && blocks <= 132)) << blocks;
      EXPECT_TRUE(at_m.splits == 1 || at_m.splits == 2 || at_m.splits == 4) << "what a cluster can be";
    }
    EXPECT_EQ(plan(kAwq, {90, '\0'}, 132, n, k, 64)->config.kernel, GemmKernel::mma_sync);
  }
  // 64 tiles of 64 rows: a cluster of two blocks for each.
  const auto split = *plan(kAwq, {90, 'a'}, 132, 4096, 4096, 32);
  EXPECT_EQ(config_name(split.config), "wgmma_m32n64k256s5w4x1x4");
  EXPECT_EQ(split.splits, 2u);
}

TEST(Plan, IsTheSameFromManyThreads) {
  const auto expected = launch_table(kAwq, kHopper, 132, 6144, 4096, 4096)->intervals;
  std::vector<std::thread> threads;
  std::vector<char> same(8);
  for (auto& result : same) {
    threads.emplace_back(
        [&result, &expected] { result = launch_table(kAwq, kHopper, 132, 6144, 4096, 4096)->intervals == expected; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::count(same.begin(), same.end(), 1), 8);
}

}  // namespace
}  // namespace cubind
