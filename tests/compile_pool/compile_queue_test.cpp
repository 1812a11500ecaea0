#include "daemon/compile_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubind {
namespace {

using ::testing::ElementsAre;
constexpr auto kForeground = Priority::foreground;
constexpr auto kPrewarm = Priority::prewarm;
constexpr std::uint32_t kUser = 1000, kOther = 1001, kThird = 1002;

std::vector<std::uint64_t> drain(CompileQueue& queue) {
  std::vector<std::uint64_t> order;
  while (const auto job = queue.pop([](std::uint64_t) { return true; })) order.push_back(*job);
  return order;
}

bool push(CompileQueue& queue, std::uint64_t job, Priority priority, std::uint32_t owner = kUser) {
  return queue.push(job, priority, owner).queued;
}

TEST(CompileQueue, ForegroundGoesFirstAndEachClassInOrder) {
  CompileQueue queue(10);
  push(queue, 1, kPrewarm);
  push(queue, 2, kForeground);
  push(queue, 3, kPrewarm);
  push(queue, 4, kForeground);
  EXPECT_THAT(queue.jobs(), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(drain(queue), ElementsAre(2, 4, 1, 3));
}

TEST(CompileQueue, PromotionGoesToTheEndOfTheForeground) {
  CompileQueue queue(10);
  push(queue, 1, kPrewarm);
  push(queue, 2, kPrewarm);
  push(queue, 3, kForeground);
  queue.set_priority(2, kForeground);
  queue.set_priority(3, kForeground);  // is there already: keeps its place
  EXPECT_THAT(drain(queue), ElementsAre(3, 2, 1));
}

TEST(CompileQueue, DemotionGoesToTheEndOfPrewarm) {
  CompileQueue queue(10);
  push(queue, 1, kForeground);
  push(queue, 2, kPrewarm);
  queue.set_priority(1, kPrewarm);
  EXPECT_EQ(queue.size(kForeground), 0u);
  EXPECT_EQ(queue.size(kPrewarm), 2u);
  EXPECT_THAT(drain(queue), ElementsAre(2, 1));
}

TEST(CompileQueue, RefusesWhenFullButTakesBackWhatRan) {
  CompileQueue queue(2);
  EXPECT_TRUE(push(queue, 1, kForeground));
  EXPECT_TRUE(push(queue, 2, kForeground));
  EXPECT_FALSE(push(queue, 3, kForeground));
  queue.push_front(4, kForeground, kUser);
  EXPECT_THAT(drain(queue), ElementsAre(4, 1, 2));
}

TEST(CompileQueue, RemovedJobsAreGone) {
  CompileQueue queue(10);
  push(queue, 1, kForeground);
  push(queue, 2, kForeground);
  EXPECT_TRUE(queue.remove(1));
  EXPECT_FALSE(queue.remove(1));
  EXPECT_THAT(drain(queue), ElementsAre(2));
}

TEST(CompileQueue, AJobThatCannotRunYetKeepsItsPlace) {
  CompileQueue queue(10);
  for (const std::uint64_t job : {1, 2, 3}) push(queue, job, kForeground);
  EXPECT_EQ(queue.pop([](std::uint64_t job) { return job != 1; }), 2u);
  EXPECT_EQ(queue.pop([](std::uint64_t) { return false; }), std::nullopt);
  EXPECT_THAT(drain(queue), ElementsAre(1, 3));
}

TEST(CompileQueue, UsersTakeTurns) {
  CompileQueue queue(100);
  for (const std::uint64_t job : {1, 2, 3, 4}) push(queue, job, kForeground, kUser);
  for (const std::uint64_t job : {11, 12}) push(queue, job, kForeground, kOther);
  push(queue, 21, kForeground, kThird);
  push(queue, 31, kPrewarm, kThird);
  EXPECT_THAT(drain(queue), ElementsAre(1, 11, 21, 2, 12, 3, 4, 31));
}

TEST(CompileQueue, OneWhoComesLaterWaitsForOneJobOfEachUser) {
  CompileQueue queue(10'000);
  for (std::uint64_t job = 1; job <= 5000; ++job) push(queue, job, kForeground, kUser);
  static_cast<void>(queue.pop([](std::uint64_t) { return true; }));
  push(queue, 9000, kForeground, kOther);
  EXPECT_EQ(queue.pop([](std::uint64_t) { return true; }), 2u);
  EXPECT_EQ(queue.pop([](std::uint64_t) { return true; }), 9000u);
}

TEST(CompileQueue, AFullQueueBelongsToAllInEqualParts) {
  CompileQueue queue(4);
  for (const std::uint64_t job : {1, 2, 3}) push(queue, job, kForeground, kUser);
  push(queue, 4, kPrewarm, kUser);
  auto pushed = queue.push(11, kPrewarm, kOther);
  EXPECT_TRUE(pushed.queued);
  EXPECT_EQ(pushed.displaced, 4u) << "his prewarm goes first";
  pushed = queue.push(12, kForeground, kOther);
  EXPECT_EQ(pushed.displaced, 3u) << "then his last";
  EXPECT_FALSE(push(queue, 5, kForeground, kUser)) << "both have their half";
  pushed = queue.push(13, kForeground, kOther);
  EXPECT_EQ(pushed.displaced, 11u) << "within his half, what he waits for goes before what he queued for later";
  EXPECT_FALSE(push(queue, 14, kPrewarm, kOther));
  EXPECT_THAT(drain(queue), ElementsAre(1, 12, 2, 13));
}

TEST(CompileQueue, APrewarmThatFillsItNeverKeepsAMissOut) {
  CompileQueue queue(4);
  for (const std::uint64_t job : {1, 2, 3, 4}) push(queue, job, kPrewarm);
  EXPECT_FALSE(push(queue, 5, kPrewarm));
  const auto pushed = queue.push(6, kForeground, kUser);
  EXPECT_TRUE(pushed.queued);
  EXPECT_EQ(pushed.displaced, 4u);
  EXPECT_THAT(drain(queue), ElementsAre(6, 1, 2, 3));
}

TEST(CompileQueue, WhoJoinsAJobDoesNotWaitBehindTheOthersOfWhoeverAskedFirst) {
  CompileQueue queue(10);
  for (const std::uint64_t job : {1, 2, 3, 4}) push(queue, job, kForeground, kUser);
  queue.share(4, kOther);
  queue.share(9, kOther);  // not here
  EXPECT_THAT(drain(queue), ElementsAre(1, 4, 2, 3));
  push(queue, 1, kForeground, kUser);
  for (const std::uint64_t job : {11, 12}) push(queue, job, kForeground, kOther);
  queue.share(1, kOther);  // his line is longer: it stays
  EXPECT_THAT(drain(queue), ElementsAre(1, 11, 12));
}

}  // namespace
}  // namespace cubind
