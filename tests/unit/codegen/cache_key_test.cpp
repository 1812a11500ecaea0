#include "codegen/cache_key.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/key_fields.hpp"
#include "codegen/nvrtc/options.hpp"
#include "codegen/plan/planner.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Toolchain nvrtc(std::uint32_t major = 13, std::uint32_t minor = 0, std::uint32_t patch = 88) {
  Toolchain toolchain;
  toolchain.major = major;
  toolchain.minor = minor;
  toolchain.patch = patch;
  toolchain.build_id = "65be0db3";
  toolchain.builtins_build_id = "08d17e32";
  toolchain.nvrtc_path = "/somewhere/libnvrtc.so.13";
  toolchain.id = toolchain_id(toolchain);
  return toolchain;
}

class CacheKey : public ::testing::Test {
 protected:
  GemmDescriptor descriptor_ = *descriptor_from_name("w4a16-bf16-g128");
  Arch arch_{90, '\0'};
  std::vector<GemmConfig> catalogue_ = *catalogue(descriptor_, arch_);

  KeyedUnit keyed(const GemmDescriptor& descriptor, const GemmConfig& config, Arch arch, const Toolchain& toolchain) {
    auto made = make_keyed_unit(descriptor, config, arch, toolchain);
    EXPECT_TRUE(made.ok()) << to_string(made.error());
    return std::move(made).value();
  }
};

TEST_F(CacheKey, TheSameRequestHasTheSameKeyAndUnit) {
  const auto a = keyed(descriptor_, catalogue_[0], arch_, nvrtc());
  const auto b = keyed(descriptor_, catalogue_[0], arch_, nvrtc());
  EXPECT_EQ(a.unit.key, b.unit.key);
  EXPECT_EQ(a.unit.source, b.unit.source);
  EXPECT_EQ(a.unit.options, b.unit.options);
  EXPECT_EQ(a.ingredients, b.ingredients);
}

TEST_F(CacheKey, PathsOfTheToolchainAreNoIngredient) {
  auto moved = nvrtc();
  moved.nvrtc_path = "/elsewhere/libcounter.so";
  moved.builtins_path = "/elsewhere/libnvrtc-builtins.so.13.0";
  EXPECT_EQ(keyed(descriptor_, catalogue_[0], arch_, nvrtc()).unit.key,
            keyed(descriptor_, catalogue_[0], arch_, moved).unit.key);
}

TEST_F(CacheKey, ConfigArchAndToolchainChangeIt) {
  const auto key = keyed(descriptor_, catalogue_[0], arch_, nvrtc()).unit.key;
  EXPECT_NE(key, keyed(descriptor_, catalogue_[1], arch_, nvrtc()).unit.key);
  EXPECT_NE(key, keyed(descriptor_, catalogue_[0], Arch{80, '\0'}, nvrtc()).unit.key);
  EXPECT_NE(key, keyed(descriptor_, catalogue_[0], arch_, nvrtc(13, 0, 89)).unit.key);
  auto other_build = nvrtc();
  other_build.build_id[0] = '7';
  EXPECT_NE(key, keyed(descriptor_, catalogue_[0], arch_, other_build).unit.key);
  auto other_builtins = nvrtc();
  other_builtins.builtins_build_id[0] = '7';
  EXPECT_NE(key, keyed(descriptor_, catalogue_[0], arch_, other_builtins).unit.key);
}

// Some of them say the same twice (an arch is also an option, a config is also in the source), so that a key could
// change as it should with one of them gone. Each must be there with its value.
TEST_F(CacheKey, HoldsEveryIngredientOfTheUnit) {
  const auto made = keyed(descriptor_, catalogue_[0], Arch{90, 'a'}, nvrtc());
  const auto& unit = made.unit;
  std::vector<Ingredient> expected{
      {"key_schema", std::to_string(kKeySchema)},
      {"family", "gemm"},
      {"descriptor", to_string(canonical(descriptor_))},
      {"config", config_text(catalogue_[0])},
      {"arch", "sm_90a"},
      {"nvrtc_version", "13.0.88"},
      {"nvrtc_build_id", "65be0db3"},
      {"builtins_build_id", "08d17e32"},
      {"source_sha256", sha256(as_bytes(unit.source)).hex()},
      {"headers_sha256", headers_digest(unit.headers).hex()},
      {"program", "kernel.cu"},
  };
  ASSERT_GT(unit.options.size(), 1u);
  for (std::size_t i = 0; i + 1 < unit.options.size(); ++i) expected.push_back({"option", unit.options[i]});
  expected.push_back({"launch_abi", std::to_string(kPlainLaunchAbi)});
  expected.push_back({"weight_layout", std::to_string(kWeightLayout)});
  EXPECT_EQ(made.ingredients, expected);

  FieldHasher again;
  for (const auto& ingredient : expected) again.field(ingredient.name, ingredient.value);
  EXPECT_EQ(again.finish(), unit.key);
}

TEST_F(CacheKey, WhatIsRunTimeIsNoIngredient) {
  auto with_bias = descriptor_;
  with_bias.bias = true;
  auto coarser = descriptor_;
  coarser.group_k = 64;
  const auto key = keyed(descriptor_, catalogue_[0], arch_, nvrtc()).unit.key;
  EXPECT_EQ(key, keyed(with_bias, catalogue_[0], arch_, nvrtc()).unit.key);
  EXPECT_EQ(key, keyed(coarser, catalogue_[0], arch_, nvrtc()).unit.key);
}

TEST_F(CacheKey, EveryConfigOfTheCatalogueHasAKeyOfItsOwn) {
  std::vector<Digest> keys;
  for (const auto& config : catalogue_) keys.push_back(keyed(descriptor_, config, arch_, nvrtc()).unit.key);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST_F(CacheKey, TheSeedComesFromTheKeyAndIsNoIngredient) {
  const auto made = keyed(descriptor_, catalogue_[0], arch_, nvrtc());
  EXPECT_EQ(made.unit.options.back(), "--frandom-seed=" + made.unit.key.hex().substr(0, 16));
  for (const auto& ingredient : made.ingredients) EXPECT_THAT(ingredient.value, Not(HasSubstr("seed")));
}

TEST_F(CacheKey, TheUnitHoldsItsClosureOfHeaders) {
  const auto made = keyed(descriptor_, catalogue_[0], arch_, nvrtc());
  EXPECT_TRUE(std::is_sorted(made.unit.headers.begin(), made.unit.headers.end()));
  std::vector<std::string> names;
  for (const auto& header : made.unit.headers) names.emplace_back(header.first);
  EXPECT_THAT(names, Contains("codegen/device/config.cuh"));
  EXPECT_THAT(names, Contains("codegen/device/kernel/gemm_mma_sync.cuh"));
}

TEST_F(CacheKey, ATargetThatTheToolchainLacksIsNotSupported) {
  const auto made = make_keyed_unit(descriptor_, catalogue_[0], Arch{120, '\0'}, nvrtc(12, 4, 127));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::not_supported);
  EXPECT_THAT(made.error().message, HasSubstr("arch \"sm_120\" is not a target of toolchain \"nvrtc-12.4.127-"));
}

TEST(CompileOptions, AreOrderedAndKnownToTheVersion) {
  EXPECT_THAT(compile_options(nvrtc(13, 0), Arch{90, 'a'}),
              ElementsAre("--gpu-architecture=sm_90a", "--std=c++20", "--device-as-default-execution-space",
                          "--modify-stack-limit=false", "--no-cache"));
  EXPECT_THAT(compile_options(nvrtc(12, 8), Arch{80, '\0'}),
              ElementsAre("--gpu-architecture=sm_80", "--std=c++20", "--device-as-default-execution-space",
                          "--modify-stack-limit=false"));
  EXPECT_EQ(seed_option(nvrtc(12, 8), Digest{}), std::nullopt);
  EXPECT_EQ(seed_option(nvrtc(12, 9), Digest{}), "--frandom-seed=0000000000000000");
}

}  // namespace
}  // namespace cubind
