#include "codegen/plan/cost_model.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/plan/catalogue.hpp"
#include "tests/unit/plan/served.hpp"

namespace cubind {
namespace {

const ArchSpec& hopper() {
  return *find_arch_spec({90, '\0'});
}

double us(const GemmConfig& config, GemmShape shape, std::uint32_t splits = 1, std::uint32_t sm_count = 132) {
  const auto k_tiles = (shape.k + config.tile_k - 1) / config.tile_k;
  return estimate_us(config_cost(config, hopper()), hopper(), sm_count, shape, splits, (k_tiles + splits - 1) / splits);
}

TEST(CostModel, NeverGetsCheaperWithMoreWorkOrFewerSms) {
  const auto all = *catalogue(served::w4a16(DType::bf16, 128, ZeroPointKind::none), {90, '\0'});
  for (const auto& config : all) {
    double before = 0;
    for (const std::uint32_t m : {1u, 8u, 9u, 64u, 100u, 128u, 129u, 1024u, 8192u}) {
      const double now = us(config, {4096, 4096, m, 128});
      EXPECT_GE(now, before) << config_name(config) << " m " << m;
      before = now;
    }
    before = 0;
    for (const std::uint32_t n : {16u, 64u, 65u, 1000u, 4096u, 28672u}) {
      const double now = us(config, {n, 4096, 64, 128}, 1, 16);
      EXPECT_GE(now, before) << config_name(config) << " n " << n;
      before = now;
    }
    for (const std::uint32_t m : {1u, 64u, 4096u}) {
      EXPECT_GE(us(config, {28672, 4096, m, 128}, 1, 16), us(config, {28672, 4096, m, 128}, 1, 132));
    }
  }
}

TEST(CostModel, KnowsThatOneTokenReadsWeightsAndManyTokensMultiply) {
  const auto all = *catalogue(served::w4a16(DType::bf16, 128, ZeroPointKind::none), {90, '\0'});
  // Large weights, one token: near the time that DRAM needs (the kernels measured so far take 1.7 times that).
  const double floor = 28672.0 * 14336 / 2 / (hopper().cost.dram_bytes_per_us * 132);
  double fastest = us(all.front(), {28672, 14336, 1, 128});
  for (const auto& config : all) fastest = std::min(fastest, us(config, {28672, 14336, 1, 128}));
  EXPECT_GT(fastest, floor);
  EXPECT_LT(fastest, 2.5 * floor);
  // Many tokens: a large tile is at least twice as fast as the smallest one.
  EXPECT_LT(2 * us(all.back(), {4096, 4096, 8192, 128}), us(all.front(), {4096, 4096, 8192, 128}));
}

TEST(ConfigCost, ResidentBlocksFitTheSm) {
  for (const auto arch : code_archs()) {
    const auto& spec = *find_arch_spec(arch);
    for (const auto& descriptor : served::descriptors(arch)) {
      const auto all = *catalogue(descriptor, arch);
      for (const auto& config : all) {
        const auto cost = config_cost(config, spec);
        EXPECT_GE(cost.resident_blocks, 1u);
        EXPECT_LE(cost.resident_blocks * smem_bytes(config), spec.smem_per_sm);
        EXPECT_LE(cost.resident_blocks * config.threads(), spec.threads_per_sm);
      }
    }
  }
}

}  // namespace
}  // namespace cubind
