#include "protocol/greeting.hpp"

#include <gtest/gtest.h>

#include "protocol/kernel_abi.hpp"

namespace cubind {
namespace {

TEST(Greeting, HighestCommonVersionIsChosen) {
  EXPECT_EQ(highest_common_version({1, 1}, {1, 1}), 1);
  EXPECT_EQ(highest_common_version({1, 3}, {2, 5}), 3);
  EXPECT_EQ(highest_common_version({2, 5}, {1, 3}), 3);
  EXPECT_EQ(highest_common_version({1, 9}, {4, 4}), 4);
}

TEST(Greeting, RangesWithoutACommonVersionGiveNone) {
  EXPECT_EQ(highest_common_version({1, 1}, {2, 3}), 0);
  EXPECT_EQ(highest_common_version({4, 7}, {2, 3}), 0);
  EXPECT_EQ(highest_common_version({3, 2}, {1, 9}), 0);  // upside down
  EXPECT_EQ(highest_common_version({0, 9}, {1, 9}), 0);  // 0 is no version
}

TEST(Greeting, DaemonAnswersWithItsRangeAndWhatItMakes) {
  const auto answer = answer_greeting({1, 7, "a client"}, "cubind 0.1.0", {1, 2});
  EXPECT_EQ(answer.version, 2);
  EXPECT_EQ(answer.min_version, 1);
  EXPECT_EQ(answer.max_version, 2);
  EXPECT_EQ(answer.daemon, "cubind 0.1.0");
  EXPECT_EQ(answer.launch_abi, kLaunchAbi);
  EXPECT_EQ(answer.weight_layout, kWeightLayout);
}

TEST(Greeting, ClientAcceptsAVersionItOffered) {
  const ClientHello sent{1, 3, ""};
  EXPECT_TRUE(check_greeting(sent, answer_greeting(sent, "", {2, 5})).ok());
}

TEST(Greeting, ClientSaysWhichSideIsTooOld) {
  const ClientHello sent{2, 3, ""};
  const auto old_daemon = check_greeting(sent, answer_greeting(sent, "", {1, 1}));
  ASSERT_FALSE(old_daemon.ok());
  EXPECT_EQ(old_daemon.error().code, ErrorCode::not_supported);
  EXPECT_EQ(old_daemon.error().message,
            "the daemon speaks protocol versions \"1\" to \"1\", this client \"2\" to \"3\": the daemon is too old");
  const auto old_client = check_greeting(sent, answer_greeting(sent, "", {4, 6}));
  ASSERT_FALSE(old_client.ok());
  EXPECT_EQ(old_client.error().message,
            "the daemon speaks protocol versions \"4\" to \"6\", this client \"2\" to \"3\": this client is too old");
}

TEST(Greeting, EveryRequestKindHasTheVersionThatBroughtIt) {
  for (const Request& old : {Request(KernelsRequest{}), Request(StatsRequest{}), Request(PurgeRequest{})}) {
    EXPECT_EQ(first_version_of(old), 1);
  }
  for (const Request& young : {Request(ReadyRequest{}), Request(ReloadRequest{}), Request(NearestRequest{})}) {
    EXPECT_EQ(first_version_of(young), 2);
  }
}

TEST(Greeting, VersionThatWasNotOfferedIsCorruption) {
  ServerHello answer;
  answer.version = 4;
  const auto status = check_greeting({1, 3, ""}, answer);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::corruption);
}

}  // namespace
}  // namespace cubind
