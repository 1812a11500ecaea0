#include "daemon/metrics.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace cubind {
namespace {

TEST(Metrics, NamesAreUniqueAndFollowOnePattern) {
  std::set<std::string> names;
  for (const auto& counter : counters({}, {})) {
    EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
    EXPECT_EQ(counter.name.rfind("cubind_", 0), 0u) << counter.name;
    EXPECT_EQ(counter.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << counter.name;
  }
}

TEST(Metrics, EveryCounterIsInTheManual) {
  std::ifstream file(CUBIND_SOURCE_DIR "/docs/operations.md");
  std::stringstream manual;
  manual << file.rdbuf();
  ASSERT_FALSE(manual.str().empty());
  for (const auto& counter : counters({}, {})) {
    EXPECT_NE(manual.str().find("`" + counter.name + "`"), std::string::npos) << counter.name;
  }
}

}  // namespace
}  // namespace cubind
