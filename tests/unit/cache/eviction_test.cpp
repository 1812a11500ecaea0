#include "cache/eviction.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_artifacts.hpp"

namespace cubind {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kHour = 3'600'000;
constexpr std::uint64_t kNow = 1'000 * kHour;
constexpr std::uint64_t kLater = kNow + 1'000;  // when eviction looks

EvictionCandidate candidate(std::uint64_t number, std::uint64_t last_used_ms, std::uint64_t hits = 0,
                            std::uint64_t bytes = 100, std::uint32_t owner = kNoOwner) {
  return {test_key(number), {last_used_ms, hits, bytes, owner}};
}

TEST(Eviction, NothingToFreeRemovesNothing) {
  EXPECT_THAT(plan_eviction({candidate(1, kNow)}, 0, 0, kLater), IsEmpty());
}

TEST(Eviction, RemovesTheLeastRecentlyUsedFirstAndNoMoreThanNeeded) {
  const auto victims =
      plan_eviction({candidate(1, kNow), candidate(2, kNow - 2), candidate(3, kNow - 1)}, 101, 0, kLater);
  EXPECT_THAT(victims, ElementsAre(test_key(2), test_key(3)));
}

TEST(Eviction, RemovesEverythingIfThatIsNotEnough) {
  EXPECT_EQ(plan_eviction({candidate(1, kNow), candidate(2, kNow)}, 1'000'000, 0, kLater).size(), 2u);
}

TEST(Eviction, EachDoublingOfHitsCountsAsAnHour) {
  // 1,000 hits are 10 doublings.
  const auto often = candidate(1, kNow - 9 * kHour, 1000);
  const auto once = candidate(2, kNow, 0);
  EXPECT_THAT(plan_eviction({often, once}, 1, 0, kLater), ElementsAre(test_key(2)));
  const auto long_ago = candidate(1, kNow - 11 * kHour, 1000);
  EXPECT_THAT(plan_eviction({long_ago, once}, 1, 0, kLater), ElementsAre(test_key(1)));
}

TEST(Eviction, HitsKeepARecordAtMostADay) {
  const auto famous = candidate(1, kNow - 25 * kHour, ~std::uint64_t{0});
  EXPECT_THAT(plan_eviction({famous, candidate(2, kNow)}, 1, 0, kLater), ElementsAre(test_key(1)));
}

TEST(Eviction, AUseInTheFutureCountsAsNow) {
  const auto from_a_wrong_clock = candidate(1, kNow + 5'000 * kHour);
  EXPECT_THAT(plan_eviction({from_a_wrong_clock, candidate(2, kLater, 2)}, 1, 0, kLater), ElementsAre(test_key(1)));
}

TEST(Eviction, AnOwnersExcessGoesBeforeOthersOlderRecords) {
  std::vector<EvictionCandidate> candidates;
  candidates.push_back(candidate(1, kNow - 50 * kHour, 0, 100, 1000));  // old, but its owner has only this
  for (std::uint64_t i = 10; i < 20; ++i) candidates.push_back(candidate(i, kNow + i, 0, 100, 1001));
  const auto victims = plan_eviction(candidates, 600, 300, kLater);
  EXPECT_EQ(victims.size(), 6u);
  EXPECT_EQ(std::count(victims.begin(), victims.end(), test_key(1)), 0);
  EXPECT_EQ(victims.front(), test_key(10));
}

TEST(Eviction, AnOwnerWithinItsQuotaIsTreatedLikeAllOthers) {
  std::vector<EvictionCandidate> candidates = {candidate(1, kNow - 2, 0, 100, 1000),
                                               candidate(2, kNow - 1, 0, 100, 1001)};
  EXPECT_THAT(plan_eviction(candidates, 100, 100, kLater), ElementsAre(test_key(1)));
}

TEST(Eviction, RecordsWithoutOwnerCountAsOneUsers) {
  std::vector<EvictionCandidate> candidates = {candidate(1, kNow - 2, 0, 100, 1000)};
  for (std::uint64_t i = 10; i < 20; ++i) candidates.push_back(candidate(i, kNow));
  EXPECT_THAT(plan_eviction(candidates, 100, 100, kLater), ElementsAre(test_key(10)));
}

TEST(Eviction, WhoIsWithinAFairShareLosesNothing) {
  for (std::size_t greedy = 1; greedy < 40; ++greedy) {  // records of user 1000; 1001 and 1002 have three each
    std::vector<EvictionCandidate> candidates;
    for (std::uint64_t i = 0; i < greedy; ++i) candidates.push_back(candidate(100 + i, kNow, 5, 100, 1000));
    for (std::uint64_t i = 0; i < 6; ++i) candidates.push_back(candidate(i, kNow - kHour, 0, 100, 1001 + i % 2));
    const std::uint64_t total = candidates.size() * 100, target = 900;
    const auto share = fair_share(candidates, target);
    EXPECT_EQ(share, 300u);
    const auto victims = plan_eviction(candidates, total - std::min(total, target), share, kLater);
    EXPECT_EQ(victims.size(), greedy > 3 ? greedy - 3 : 0);
    for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(std::count(victims.begin(), victims.end(), test_key(i)), 0);
  }
  EXPECT_EQ(fair_share({}, 900), 900u);
}

}  // namespace
}  // namespace cubind
