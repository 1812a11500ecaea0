#include "daemon/single_flight.hpp"

#include <functional>
#include <utility>

#include <gtest/gtest.h>

namespace cubind {
namespace {

struct Listener final : FlightWaiter {
  void flight_missed(std::size_t tag) override {
    missed.push_back(tag);
    if (on_missed) on_missed();
  }
  void flight_done(std::size_t tag, const FlightResult& result) override {
    done.push_back(tag);
    built = result.built;
    if (on_done) on_done();
  }
  std::vector<std::size_t> missed, done;
  bool built = false;
  std::function<void()> on_missed, on_done;
};

KernelKey key(std::uint8_t n) {
  KernelKey made;
  made.bytes[0] = n;
  return made;
}

FlightResult result() {
  return {std::make_shared<const Artifact>(), true, {}};
}

struct SingleFlightTest : testing::Test {
  std::vector<std::pair<KernelKey, Priority>> changes;
  SingleFlight flights{[this](const KernelKey& k, Priority p) { changes.emplace_back(k, p); }};
  Listener a, b;
};

TEST_F(SingleFlightTest, OnlyTheFirstStartsTheWorkAndAllHearTheResult) {
  EXPECT_TRUE(flights.join(key(1), Priority::foreground, a, 7).first);
  EXPECT_FALSE(flights.join(key(1), Priority::foreground, b, 8).first);
  EXPECT_TRUE(flights.join(key(2), Priority::foreground, b, 9).first);
  flights.finish(key(1), result());
  EXPECT_EQ(a.done, std::vector<std::size_t>{7});
  EXPECT_EQ(b.done, std::vector<std::size_t>{8});
  EXPECT_TRUE(b.built);
  EXPECT_EQ(flights.size(), 1u);
}

TEST_F(SingleFlightTest, AfterTheEndTheNextOneStartsANewFlight) {
  static_cast<void>(flights.join(key(1), Priority::foreground, a, 0));
  flights.finish(key(1), result());
  EXPECT_TRUE(flights.join(key(1), Priority::foreground, a, 0).first);
}

TEST_F(SingleFlightTest, PriorityIsTheHighestOfTheWaiters) {
  static_cast<void>(flights.join(key(1), Priority::prewarm, a, 0));
  EXPECT_TRUE(changes.empty());
  const auto urgent = flights.join(key(1), Priority::foreground, b, 0);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0], std::pair(key(1), Priority::foreground));
  flights.leave(key(1), urgent.ticket);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[1], std::pair(key(1), Priority::prewarm));
}

TEST_F(SingleFlightTest, AFlightThatNobodyWaitsForIsDemotedAndGoesOn) {
  const auto joined = flights.join(key(1), Priority::foreground, a, 0);
  flights.leave(key(1), joined.ticket);
  EXPECT_EQ(flights.priority(key(1)), Priority::prewarm);
  EXPECT_EQ(flights.size(), 1u);
  EXPECT_FALSE(flights.join(key(1), Priority::foreground, b, 3).first) << "it joins the flight that goes on";
  EXPECT_EQ(flights.priority(key(1)), Priority::foreground);
  flights.finish(key(1), result());
  EXPECT_TRUE(a.done.empty()) << "who has left hears nothing";
  EXPECT_EQ(b.done, std::vector<std::size_t>{3});
}

TEST_F(SingleFlightTest, OneThatLeavesDoesNotDisturbTheOthers) {
  const auto leaver = flights.join(key(1), Priority::foreground, a, 0);
  static_cast<void>(flights.join(key(1), Priority::foreground, b, 1));
  flights.leave(key(1), leaver.ticket);
  EXPECT_EQ(flights.priority(key(1)), Priority::foreground);
  flights.finish(key(1), result());
  EXPECT_EQ(b.done.size(), 1u);
}

TEST_F(SingleFlightTest, WaitersHearOfTheMissOnceAndLaterOnesKnowAtOnce) {
  static_cast<void>(flights.join(key(1), Priority::foreground, a, 4));
  flights.missed(key(1));
  flights.missed(key(1));
  EXPECT_EQ(a.missed, std::vector<std::size_t>{4});
  EXPECT_TRUE(flights.join(key(1), Priority::foreground, b, 5).missed);
  EXPECT_TRUE(b.missed.empty());
}

TEST_F(SingleFlightTest, AWaiterMayLeaveFromInsideTheCallOfAnother) {
  static_cast<void>(flights.join(key(1), Priority::foreground, a, 0));
  const auto second = flights.join(key(1), Priority::foreground, b, 0);
  a.on_done = [&] { flights.leave(key(1), second.ticket); };
  flights.finish(key(1), result());
  EXPECT_TRUE(b.done.empty());
}

TEST_F(SingleFlightTest, AWaiterMayLeaveFromInsideTheMissOfAnother) {
  static_cast<void>(flights.join(key(1), Priority::foreground, a, 0));
  const auto second = flights.join(key(1), Priority::foreground, b, 0);
  a.on_missed = [&] { flights.leave(key(1), second.ticket); };
  flights.missed(key(1));
  EXPECT_TRUE(b.missed.empty());
  EXPECT_EQ(flights.waiters(key(1)), 1u);
  flights.finish(key(1), result());
  EXPECT_TRUE(b.done.empty());
  EXPECT_EQ(a.done.size(), 1u);
}

TEST_F(SingleFlightTest, AWaiterMayAskAgainFromInsideItsResult) {
  static_cast<void>(flights.join(key(1), Priority::foreground, a, 0));
  bool first = false;
  a.on_done = [&] {
    a.on_done = nullptr;
    first = flights.join(key(1), Priority::foreground, a, 1).first;
  };
  flights.finish(key(1), result());
  EXPECT_TRUE(first);
  EXPECT_EQ(flights.size(), 1u);
}

TEST_F(SingleFlightTest, LeavingTwiceOrTooLateIsHarmless) {
  const auto joined = flights.join(key(1), Priority::foreground, a, 0);
  flights.leave(key(1), joined.ticket);
  flights.leave(key(1), joined.ticket);
  flights.finish(key(1), result());
  flights.leave(key(1), joined.ticket);
  flights.finish(key(1), result());
  EXPECT_EQ(flights.size(), 0u);
}

}  // namespace
}  // namespace cubind
