#include "daemon/metrics.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace cubind {
namespace {

TEST(Metrics, NamesAreUniqueAndFollowOnePattern) {
  std::set<std::string> names;
  for (const auto& counter : measure({}, {})) {
    EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
    EXPECT_TRUE(std::string(counter.name).starts_with("cubind_")) << counter.name;
    EXPECT_EQ(std::string(counter.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos)
        << counter.name;
  }
}

TEST(Metrics, EveryCounterIsInTheManual) {
  std::ifstream file(CUBIND_SOURCE_DIR "/docs/operations.md");
  std::stringstream manual;
  manual << file.rdbuf();
  ASSERT_FALSE(manual.str().empty());
  for (const auto& counter : measure({}, {})) {
    EXPECT_NE(manual.str().find("`" + std::string(counter.name) + "`"), std::string::npos) << counter.name;
  }
}

}  // namespace
}  // namespace cubind
