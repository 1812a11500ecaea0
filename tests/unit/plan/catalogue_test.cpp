#include "codegen/plan/catalogue.hpp"

#include <set>

#include <gtest/gtest.h>

#include "codegen/device/tile/smem_layout.cuh"
#include "tests/unit/plan/served.hpp"

namespace cubind {
namespace {

TEST(Catalogue, IsSmallNamedAndFitsTheTarget) {
  for (const auto arch : code_archs()) {
    const auto& spec = *find_arch_spec(arch);
    for (const auto& descriptor : served::descriptors(arch)) {
      const auto all = catalogue(descriptor, arch);
      ASSERT_TRUE(all.ok()) << all.error().message;
      EXPECT_LE(all->size(), kMaxCatalogue);
      EXPECT_GE(all->size(), 5u);
      std::set<std::string> names;
      for (const auto& config : *all) {
        const auto name = config_name(config);
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_TRUE(config.well_formed()) << name << " on " << to_string(arch);
        EXPECT_LE(smem_bytes(config), spec.smem_per_block) << name << " on " << to_string(arch);
        EXPECT_LE(config.threads(), 1024u);
        EXPECT_EQ(config.activation, descriptor.activation);
        EXPECT_EQ(config.weight_bits, 4u);
        EXPECT_EQ(config.zero_points, descriptor.zero_point != ZeroPointKind::none);
        EXPECT_EQ(config.scale_class, descriptor.group_k == 32 ? ScaleClass::g32 : ScaleClass::g64_plus);
        EXPECT_EQ(config.async_copy, arch.number >= 80);
        const auto mma = arch.number >= 80 ? MmaKind::mma_m16n8k16 : MmaKind::mma_m16n8k8;
        EXPECT_EQ(config.mma, config.kernel == GemmKernel::wgmma ? MmaKind::wgmma_m64k16 : mma);
        EXPECT_TRUE(config.kernel == GemmKernel::mma_sync || arch == (Arch{90, 'a'}));
      }
      EXPECT_EQ(all->front().tile_m, 8u);
    }
  }
}

// What is one descriptor for the kernel key must be one catalogue too.
TEST(Catalogue, DependsOnTheCanonicalDescriptorOnly) {
  for (const auto arch : code_archs()) {
    for (auto descriptor : served::descriptors(arch)) {
      descriptor.bias = true;
      descriptor.determinism = Determinism::sm_count;
      EXPECT_EQ(*catalogue(descriptor, arch), *catalogue(canonical(descriptor), arch)) << to_string(descriptor);
    }
  }
}

TEST(Catalogue, ConfigsAreFoundByName) {
  const auto descriptor = served::w4a16(DType::bf16, 128, ZeroPointKind::none);
  const Arch arch{90, '\0'};
  const auto all = *catalogue(descriptor, arch);
  for (const auto& config : all) EXPECT_EQ(*config_from_name(descriptor, arch, config_name(config)), config);

  const auto missing = config_from_name(descriptor, arch, "m3n5");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message.find("config \"m3n5\" is not one of " + config_name(all.front()) + ", "), 0u);
  GemmConfig c;
  c.tile_m = 16, c.tile_n = 64, c.tile_k = 128, c.stages = 5;
  c.warps_n = 2, c.warps_m = 1, c.warps_k = 4;
  EXPECT_EQ(config_name(c), "m16n64k128s5w2x1x4");
}

TEST(Reachable, GrowsWithMaxMUpToTheWholeCatalogue) {
  for (const auto arch : code_archs()) {
    for (const auto& descriptor : served::descriptors(arch)) {
      const auto all = *catalogue(descriptor, arch);
      std::size_t before = 0;
      for (const std::uint32_t max_m : {1u, 8u, 9u, 16u, 17u, 33u, 65u, 129u, 8192u}) {
        const auto some = *reachable(descriptor, arch, max_m);
        EXPECT_GE(some.size(), std::max<std::size_t>(before, 1));
        before = some.size();
      }
      EXPECT_EQ(before, all.size());
      EXPECT_LT(reachable(descriptor, arch, 1)->size(), all.size());
    }
  }
}

TEST(FirstM, IsOneMoreThanTheNextSmallerTile) {
  GemmConfig small, middle, large;
  small.tile_m = 8;
  middle.tile_m = 16;
  large.tile_m = 64;
  const std::vector<GemmConfig> all{small, middle, middle, large};
  EXPECT_EQ(first_m(all, small), 1u);
  EXPECT_EQ(first_m(all, middle), 9u);
  EXPECT_EQ(first_m(all, large), 17u);
}

TEST(CodeArch, GivesEveryTargetTheCodeItCanRun) {
  const std::pair<Arch, std::uint16_t> cases[] = {
      {{75, '\0'}, 75},  {{80, '\0'}, 80},   {{86, '\0'}, 86},  {{87, '\0'}, 86},
      {{88, '\0'}, 86},  {{89, '\0'}, 89},   {{90, '\0'}, 90},  {{100, '\0'}, 100},
      {{100, 'a'}, 100}, {{103, 'a'}, 100},  {{103, 'f'}, 100}, {{120, '\0'}, 120},
      {{120, 'a'}, 120}, {{121, '\0'}, 120}, {{121, 'f'}, 120}, {{100, 'f'}, 100},
  };
  for (const auto& [asked, number] : cases) {
    const auto target = code_arch(asked);
    ASSERT_TRUE(target.ok()) << to_string(asked);
    EXPECT_EQ(*target, (Arch{number, '\0'})) << to_string(asked);
  }
  EXPECT_EQ(code_arch({90, 'a'}).value(), (Arch{90, 'a'})) << "Hopper's own instructions have code of their own";
}

TEST(CodeArch, OfOtherTargetsListsWhatThereIs) {
  for (const Arch asked : {Arch{70, '\0'}, Arch{72, '\0'}, Arch{61, '\0'}, Arch{110, 'a'}, Arch{130, '\0'}}) {
    const auto target = code_arch(asked);
    ASSERT_FALSE(target.ok()) << to_string(asked);
    EXPECT_EQ(target.error().code, ErrorCode::not_supported);
    EXPECT_EQ(target.error().message,
              "arch \"" + to_string(asked) +
                  "\" has no code, only sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120 and "
                  "later minor versions of these");
  }
}

TEST(ArchSpecs, AreInOrderAndComplete) {
  Arch before;
  for (const auto& spec : arch_specs()) {
    EXPECT_GT(spec.arch, before);
    before = spec.arch;
    EXPECT_LT(spec.smem_per_block, spec.smem_per_sm + 1);
    for (const double value :
         {spec.cost.launch_us, spec.cost.block_us, spec.cost.step_us, spec.cost.warp_mma_us, spec.cost.latency_us,
          spec.cost.split_us, spec.cost.reduce_us, spec.cost.partial_bytes_per_us, spec.cost.dram_bytes_per_us,
          spec.cost.l2_bytes_per_us, spec.cost.smem_bytes_per_us, spec.cost.mma_per_us, spec.cost.unpack_per_us}) {
      EXPECT_GT(value, 0) << to_string(spec.arch);
    }
  }
  EXPECT_EQ(find_arch_spec({87, '\0'}), nullptr);
}

}  // namespace
}  // namespace cubind
