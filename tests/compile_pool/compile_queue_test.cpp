#include "daemon/compile_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubind {
namespace {

using ::testing::ElementsAre;
constexpr auto kForeground = Priority::foreground;
constexpr auto kPrewarm = Priority::prewarm;

std::vector<std::uint64_t> drain(CompileQueue& queue) {
  std::vector<std::uint64_t> order;
  while (const auto job = queue.pop([](std::uint64_t) { return true; })) order.push_back(*job);
  return order;
}

TEST(CompileQueue, ForegroundGoesFirstAndEachClassInOrder) {
  CompileQueue queue(10);
  queue.push(1, kPrewarm);
  queue.push(2, kForeground);
  queue.push(3, kPrewarm);
  queue.push(4, kForeground);
  EXPECT_THAT(queue.jobs(), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(drain(queue), ElementsAre(2, 4, 1, 3));
}

TEST(CompileQueue, PromotionGoesToTheEndOfTheForeground) {
  CompileQueue queue(10);
  queue.push(1, kPrewarm);
  queue.push(2, kPrewarm);
  queue.push(3, kForeground);
  queue.set_priority(2, kForeground);
  queue.set_priority(3, kForeground);  // is there already: keeps its place
  EXPECT_THAT(drain(queue), ElementsAre(3, 2, 1));
}

TEST(CompileQueue, DemotionGoesToTheEndOfPrewarm) {
  CompileQueue queue(10);
  queue.push(1, kForeground);
  queue.push(2, kPrewarm);
  queue.set_priority(1, kPrewarm);
  EXPECT_EQ(queue.size(kForeground), 0u);
  EXPECT_EQ(queue.size(kPrewarm), 2u);
  EXPECT_THAT(drain(queue), ElementsAre(2, 1));
}

TEST(CompileQueue, RefusesWhenFullButTakesBackWhatRan) {
  CompileQueue queue(2);
  EXPECT_TRUE(queue.push(1, kForeground));
  EXPECT_TRUE(queue.push(2, kPrewarm));
  EXPECT_FALSE(queue.push(3, kForeground));
  queue.push_front(4, kForeground);
  EXPECT_THAT(drain(queue), ElementsAre(4, 1, 2));
}

TEST(CompileQueue, RemovedJobsAreGone) {
  CompileQueue queue(10);
  queue.push(1, kForeground);
  queue.push(2, kForeground);
  EXPECT_TRUE(queue.remove(1));
  EXPECT_FALSE(queue.remove(1));
  EXPECT_THAT(drain(queue), ElementsAre(2));
}

TEST(CompileQueue, AJobThatCannotRunYetKeepsItsPlace) {
  CompileQueue queue(10);
  for (const std::uint64_t job : {1, 2, 3}) queue.push(job, kForeground);
  EXPECT_EQ(queue.pop([](std::uint64_t job) { return job != 1; }), 2u);
  EXPECT_EQ(queue.pop([](std::uint64_t) { return false; }), std::nullopt);
  EXPECT_THAT(drain(queue), ElementsAre(1, 3));
}

}  // namespace
}  // namespace cubind
