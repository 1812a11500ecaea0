#include "codegen/key_fields.hpp"

#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubind {
namespace {

using ::testing::ElementsAre;

KeyFields sample() {
  KeyFields fields;
  fields.family = "gemm";
  fields.descriptor = "kind=dense activation=bf16";
  fields.config = "tile_m=16";
  fields.arch = "sm_90";
  fields.nvrtc_version = "13.0.88";
  fields.nvrtc_build_id = "65be";
  fields.builtins_build_id = "08d1";
  fields.source = "aa";
  fields.headers = "bb";
  fields.options = {"--std=c++20", "--no-cache"};
  fields.program = "kernel.cu";
  fields.launch_abi = 1;
  fields.weight_layout = 1;
  return fields;
}

TEST(KeyFields, EveryIngredientChangesTheKey) {
  const std::vector<std::function<void(KeyFields&)>> changes{
      [](KeyFields& f) { f.family = "gemv"; },
      [](KeyFields& f) { f.descriptor += " bias=1"; },
      [](KeyFields& f) { f.config = "tile_m=32"; },
      [](KeyFields& f) { f.arch = "sm_90a"; },
      [](KeyFields& f) { f.nvrtc_version = "13.0.89"; },
      [](KeyFields& f) { f.nvrtc_build_id = "65bf"; },
      [](KeyFields& f) { f.builtins_build_id = "08d2"; },
      [](KeyFields& f) { f.source = "ab"; },
      [](KeyFields& f) { f.headers = "bc"; },
      [](KeyFields& f) {
        f.options = {"--no-cache", "--std=c++20"};
      },
      [](KeyFields& f) { f.options = {"--std=c++20"}; },
      [](KeyFields& f) { f.options = {"--std=c++20--no-cache"}; },
      [](KeyFields& f) { f.program = "other.cu"; },
      [](KeyFields& f) { f.launch_abi = 2; },
      [](KeyFields& f) { f.weight_layout = 2; },
  };
  std::set<std::string> keys{hash_fields(sample()).finish().hex()};
  for (const auto& change : changes) {
    auto fields = sample();
    change(fields);
    keys.insert(hash_fields(fields).finish().hex());
  }
  EXPECT_EQ(keys.size(), changes.size() + 1);
}

// The names and their order are the key's definition: a change here is a new kKeySchema and a line in
// docs/cache-key.md.
TEST(KeyFields, TheIngredientsAreThese) {
  std::vector<std::string> names;
  const auto hasher = hash_fields(sample());
  for (const auto& ingredient : hasher.ingredients()) names.push_back(ingredient.name);
  EXPECT_THAT(names, ElementsAre("key_schema", "family", "descriptor", "config", "arch", "nvrtc_version",
                                 "nvrtc_build_id", "builtins_build_id", "source_sha256", "headers_sha256", "program",
                                 "option", "option", "launch_abi", "weight_layout"));
}

// Two machines, two builds of cubind and two years apart give the same key.
TEST(KeyFields, TheKeyOfTheseIngredientsIsFixed) {
  EXPECT_EQ(hash_fields(sample()).finish().hex(), "d84fe4de32e1e75471a304562036ee52c16518e40970a115058b695017d3b578");
}

TEST(KeyFields, HeadersAreNamedAndDelimited) {
  const auto digest = headers_digest({{"a.cuh", "xy"}, {"b.cuh", "z"}});
  EXPECT_NE(digest, headers_digest({{"a.cuh", "x"}, {"b.cuh", "yz"}}));
  EXPECT_NE(digest, headers_digest({{"a.cuh", "xy"}, {"c.cuh", "z"}}));
  EXPECT_NE(digest, headers_digest({{"a.cuh", "xy"}}));
  EXPECT_EQ(digest, headers_digest({{"a.cuh", "xy"}, {"b.cuh", "z"}}));
}

TEST(KeyFields, EveryMemberOfTheConfigIsSpelled) {
  const std::vector<std::function<void(GemmConfig&)>> changes{
      [](GemmConfig& c) { c.kernel = GemmKernel::wgmma; },
      [](GemmConfig& c) { c.activation = DType::f16; },
      [](GemmConfig& c) { c.weight_bits = 8; },
      [](GemmConfig& c) { c.zero_points = true; },
      [](GemmConfig& c) { c.scale_class = ScaleClass::g32; },
      [](GemmConfig& c) { c.mma = MmaKind::mma_m16n8k8; },
      [](GemmConfig& c) { c.async_copy = false; },
      [](GemmConfig& c) { c.tile_m = 32; },
      [](GemmConfig& c) { c.tile_n = 128; },
      [](GemmConfig& c) { c.tile_k = 64; },
      [](GemmConfig& c) { c.stages = 3; },
      [](GemmConfig& c) { c.warps_m = 2; },
      [](GemmConfig& c) { c.warps_n = 2; },
      [](GemmConfig& c) { c.warps_k = 2; },
  };
  std::set<std::string> texts{config_text(GemmConfig{})};
  for (const auto& change : changes) {
    GemmConfig config;
    change(config);
    texts.insert(config_text(config));
  }
  EXPECT_EQ(texts.size(), changes.size() + 1);
  // A new member of GemmConfig makes this fail: spell it in config_text and change it above.
  const auto& [kernel, activation, bits, zeros, scales, mma, async, tile_m, tile_n, tile_k, stages, warps_m, warps_n,
               warps_k] = GemmConfig{};
  static_cast<void>(activation), static_cast<void>(bits), static_cast<void>(zeros), static_cast<void>(scales);
  static_cast<void>(mma), static_cast<void>(async), static_cast<void>(tile_m), static_cast<void>(tile_n);
  static_cast<void>(tile_k), static_cast<void>(stages), static_cast<void>(warps_m), static_cast<void>(warps_n);
  static_cast<void>(warps_k), static_cast<void>(kernel);
}

}  // namespace
}  // namespace cubind
