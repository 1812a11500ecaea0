#include "bench/service/process_fleet.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubind::bench {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr std::size_t kProcesses = 3;

struct Outcome {
  std::size_t index;
  steady_clock::duration started;
};

struct ProcessFleet : testing::Test {
  // No process is left behind, however the fleet ended.
  void TearDown() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
};

TEST_F(ProcessFleet, AllStartWhenAllAreReadyAndHandBackTheirOutcomes) {
  steady_clock::duration released{};
  const auto outcomes = run_fleet<Outcome>(
      kProcesses,
      [](std::size_t index, Race& race, Outcome& outcome) -> Status {
        race.start();
        outcome = {index, steady_clock::now().time_since_epoch()};
        race.end();
        return {};
      },
      [&] { released = steady_clock::now().time_since_epoch(); });
  ASSERT_TRUE(outcomes.ok()) << to_string(outcomes.error());
  ASSERT_EQ(outcomes->size(), kProcesses);
  for (std::size_t index = 0; index < kProcesses; ++index) {
    EXPECT_EQ((*outcomes)[index].index, index);
    EXPECT_GE((*outcomes)[index].started, released);
  }
}

TEST_F(ProcessFleet, OneThatDiesBeforeItIsReadyIsNamed) {
  const auto outcomes = run_fleet<Outcome>(kProcesses, [](std::size_t index, Race& race, Outcome&) -> Status {
    if (index == 1) ::raise(SIGKILL);
    race.start();
    race.end();
    return {};
  });
  ASSERT_FALSE(outcomes.ok());
  EXPECT_THAT(to_string(outcomes.error()), HasSubstr("internal: process 1 of 3 (pid "));
  EXPECT_THAT(outcomes.error().message, HasSubstr("ended with wait status \"9\" before it was ready"));
}

TEST_F(ProcessFleet, OneThatDiesInTheRaceIsNamed) {
  const auto outcomes = run_fleet<Outcome>(kProcesses, [](std::size_t index, Race& race, Outcome&) -> Status {
    race.start();
    if (index == 2) ::_exit(7);
    race.end();
    return {};
  });
  ASSERT_FALSE(outcomes.ok());
  EXPECT_THAT(outcomes.error().message, HasSubstr("process 2 of 3 (pid "));
  EXPECT_THAT(outcomes.error().message, HasSubstr("ended with wait status \"1792\" before it was through"));
}

TEST_F(ProcessFleet, OneThatHangsIsNamed) {
  const auto outcomes = run_fleet<Outcome>(
      kProcesses,
      [](std::size_t index, Race& race, Outcome&) -> Status {
        race.start();
        if (index == 0) ::pause();
        race.end();
        return {};
      },
      [] {}, std::chrono::milliseconds(200));
  ASSERT_FALSE(outcomes.ok());
  EXPECT_THAT(to_string(outcomes.error()), HasSubstr("timed_out: process 0 of 3 (pid "));
  EXPECT_THAT(outcomes.error().message, HasSubstr("was not through within \"200\" ms"));
}

TEST_F(ProcessFleet, AnErrorOfOneEndsItForAll) {
  const auto outcomes = run_fleet<Outcome>(kProcesses, [](std::size_t index, Race& race, Outcome&) -> Status {
    if (index == 2) return Error{ErrorCode::not_found, "nothing here"};
    race.start();
    race.end();
    return {};
  });
  ASSERT_FALSE(outcomes.ok());
  EXPECT_EQ(outcomes.error().code, ErrorCode::not_found);
  EXPECT_THAT(outcomes.error().message, HasSubstr("process 2 of 3 (pid "));
  EXPECT_THAT(outcomes.error().message, HasSubstr("): nothing here"));
}

}  // namespace
}  // namespace cubind::bench
