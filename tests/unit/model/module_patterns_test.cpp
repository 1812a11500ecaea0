#include "client/model/module_patterns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubind {
namespace {

bool matches(const std::string& entry, const std::string& module) {
  return ModulePatterns::make({entry}).value().matches(module);
}

TEST(ModulePatterns, ComponentsMeanTheModuleItsParentsAndEveryLayersModule) {
  const std::string module = "model.layers.3.self_attn.q_proj";
  for (const char* entry :
       {"model.layers.3.self_attn.q_proj", "model.layers.3", "self_attn", "q_proj", "self_attn.q_proj",
        "layers.3.self_attn", "language_model.model.layers.3.self_attn.q_proj"}) {
    EXPECT_TRUE(matches(entry, module)) << entry;
  }
  for (const char* entry : {"proj", "layers.3.self", "model.layers.33", "k_proj", "lm_head", "layers.self_attn"}) {
    EXPECT_FALSE(matches(entry, module)) << entry;
  }
  EXPECT_FALSE(matches("model.layers.1", "model.layers.10.mlp.up_proj"));
  EXPECT_TRUE(matches("lm_head", "language_model.lm_head"));
}

TEST(ModulePatterns, Globs) {
  EXPECT_TRUE(matches("model.layers.*.self_attn", "model.layers.7.self_attn.o_proj"));
  EXPECT_TRUE(matches("*.mlp.*", "model.layers.7.mlp.up_proj"));
  EXPECT_TRUE(matches("model.layers.61*", "model.layers.61.mlp.up_proj"));
  EXPECT_FALSE(matches("model.layers.*.self_attn", "model.layers.7.mlp.up_proj"));
  EXPECT_TRUE(matches("language_model.model.layers.0.self_attn*", "model.layers.0.self_attn.q_proj"));
}

TEST(ModulePatterns, GlobsOfManyStarsAreQuick) {
  std::string pattern, text(200, 'a');
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(matches(pattern + "b", text));
}

TEST(ModulePatterns, APrefixEndsInADot) {
  EXPECT_TRUE(matches("model.layers.3.", "model.layers.3.mlp.up_proj"));
  EXPECT_FALSE(matches("model.layers.3.", "model.layers.33.mlp.up_proj"));
}

TEST(ModulePatterns, RegexesMatchFromTheStart) {
  EXPECT_TRUE(matches("re:.*self_attn.*", "model.layers.3.self_attn.q_proj"));
  EXPECT_TRUE(matches("re:.*mlp\\.(gate|up)_proj", "model.layers.3.mlp.up_proj"));
  EXPECT_FALSE(matches("re:self_attn", "model.layers.3.self_attn.q_proj"));
}

TEST(ModulePatterns, WhatCannotBeMatchedCheaplyIsRefused) {
  for (const char* entry : {"re:(a{255}){255}", "re:(a)\\1", "re:(", ""}) {
    const auto made = ModulePatterns::make({entry});
    ASSERT_FALSE(made.ok()) << entry;
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace cubind
