#include "protocol/arch.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace cubind {
namespace {

// Row G6 of docs/faults.md.
TEST(ArchText, SuffixesAreDistinctAndUnknownOnesAreRefused) {
  std::set<std::string> distinct;
  for (const char* text : {"sm_90", "sm_90a", "sm_90f", "sm_100", "sm_100a", "sm_103", "sm_120"}) {
    const auto arch = arch_from_string(text);
    ASSERT_TRUE(arch.ok()) << text;
    EXPECT_EQ(to_string(*arch), text);
    distinct.insert(to_string(*arch));
  }
  EXPECT_EQ(distinct.size(), 7u);
  for (const char* text : {"sm_90b", "sm_90A", "sm_90aa", "sm_9", "sm_", "sm_1000", "gfx906", "sm_90 ", "sm_09", ""}) {
    EXPECT_FALSE(arch_from_string(text).ok()) << text;
  }
}

}  // namespace
}  // namespace cubind
