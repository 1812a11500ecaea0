#include "daemon/session_logic.hpp"

#include <gtest/gtest.h>

#include "protocol/limits.hpp"
#include "tests/unit/daemon/service_harness.hpp"

namespace cubind::test {
namespace {

using namespace std::chrono_literals;

struct SessionLogicTest : testing::Test {
  Service service;
  Conversation client{service};

  ErrorReply only_error(Conversation& who) {
    const auto errors = who.heard_of<ErrorReply>(who.heard());
    EXPECT_EQ(errors.size(), 1u);
    return errors.empty() ? ErrorReply{} : errors.front();
  }
};

TEST_F(SessionLogicTest, TheGreetingAgreesOnTheHighestCommonVersion) {
  Conversation fresh(service, {}, /*greet=*/false);
  fresh.send_bytes(codec::encode(ClientHello{1, 7, "of the future"}));
  const auto hello = fresh.hello();
  EXPECT_EQ(hello.version, kProtocolMax);
  EXPECT_EQ(hello.launch_abi, kLaunchAbi);
  EXPECT_EQ(hello.weight_layout, kWeightLayout);
  EXPECT_FALSE(fresh.logic->over());
}

TEST_F(SessionLogicTest, ClientsWithoutACommonVersionAreToldTheRangeAndEnded) {
  Conversation fresh(service, {}, /*greet=*/false);
  fresh.send_bytes(codec::encode(ClientHello{kProtocolMax + 1, kProtocolMax + 3, "too new"}));
  EXPECT_FALSE(fresh.logic->wants_input());
  EXPECT_FALSE(fresh.logic->over()) << "the answer is still to be written";
  const auto hello = fresh.hello();
  EXPECT_EQ(hello.version, 0u);
  EXPECT_EQ(hello.min_version, kProtocolMin);
  EXPECT_EQ(hello.max_version, kProtocolMax);
  EXPECT_TRUE(fresh.logic->over());
}

TEST_F(SessionLogicTest, WhoSaysNothingIsEndedAfterTheGreetingTimeout) {
  Conversation silent(service, {}, /*greet=*/false);
  EXPECT_EQ(*silent.logic->next_wakeup() - service.clock.now(), limits::kGreetingTimeout);
  service.clock.advance(limits::kGreetingTimeout);
  silent.logic->tick(service.clock.now());
  EXPECT_EQ(only_error(silent).id, 0u);
  EXPECT_TRUE(silent.logic->over());
}

TEST_F(SessionLogicTest, AfterTheGreetingThereIsNoTimeout) {
  EXPECT_FALSE(client.logic->next_wakeup().has_value());
}

TEST_F(SessionLogicTest, BytesMayComeOneAtATime) {
  Conversation fresh(service, {}, /*greet=*/false);
  const auto hello = codec::encode(ClientHello{1, 1, "slow"});
  const auto request = codec::encode(Request(HealthRequest{3}));
  for (const auto& bytes : {hello, request}) {
    for (const auto byte : bytes) fresh.send_bytes({&byte, 1});
  }
  EXPECT_EQ(fresh.hello().version, 1u);
  const auto health = fresh.heard_of<HealthReply>(fresh.heard());
  ASSERT_EQ(health.size(), 1u);
  EXPECT_EQ(health[0].id, 3u);
}

TEST_F(SessionLogicTest, PipelinedRequestsAreAllAnswered) {
  Bytes bytes;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    const auto one = codec::encode(Request(StatsRequest{id}));
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  client.send_bytes(bytes);
  EXPECT_EQ(client.heard_of<StatsReply>(client.heard()).size(), 20u);
}

TEST_F(SessionLogicTest, AFrameAboveTheLimitEndsTheConnectionWithId0) {
  std::byte header[4];
  store_le<std::uint32_t>(header, limits::kMaxRequestBytes + 8);
  client.send_bytes(header);
  const auto error = only_error(client);
  EXPECT_EQ(error.id, 0u);
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_TRUE(client.logic->over());
}

TEST_F(SessionLogicTest, BytesThatAreNoMessageEndTheConnection) {
  Bytes junk(4 + 64, std::byte{0xff});
  store_le<std::uint32_t>(junk.data(), 64);
  client.send_bytes(junk);
  EXPECT_EQ(only_error(client).id, 0u);
  EXPECT_TRUE(client.logic->over());
  EXPECT_EQ(service.metrics.protocol_errors, 1u);
}

TEST_F(SessionLogicTest, AFirstFrameThatIsNoGreetingIsRefused) {
  Conversation fresh(service, {}, /*greet=*/false);
  Bytes junk(4 + 8, std::byte{0x7f});
  store_le<std::uint32_t>(junk.data(), 8);
  fresh.send_bytes(junk);
  EXPECT_EQ(only_error(fresh).id, 0u);
  EXPECT_TRUE(fresh.logic->over());
}

TEST_F(SessionLogicTest, AnIdInFlightIsRefusedAndTheFirstGoesOn) {
  client.send(one_kernel(7, 0));
  client.send(one_kernel(7, 1));
  const auto error = only_error(client);
  EXPECT_EQ(error.id, 7u);
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  service.executor.run();
  service.pool.succeed_all();
  service.executor.run();
  EXPECT_EQ(client.heard_of<SummaryReply>(client.heard()).size(), 1u);
}

TEST_F(SessionLogicTest, AnIdMayBeUsedAgainOnceItsRequestHasEnded) {
  for (int round = 0; round < 2; ++round) {
    client.send(one_kernel(7));
    service.executor.run();
    service.pool.succeed_all();
    service.executor.run();
    EXPECT_EQ(client.heard_of<SummaryReply>(client.heard()).size(), 1u);
  }
}

TEST_F(SessionLogicTest, TooManyRequestsInFlightAreRefused) {
  for (std::uint64_t id = 1; id <= limits::kMaxRequestsInFlight; ++id) client.send(one_kernel(id));
  EXPECT_TRUE(client.heard().empty());
  client.send(one_kernel(1000));
  const auto error = only_error(client);
  EXPECT_EQ(error.id, 1000u);
  EXPECT_EQ(error.code, ErrorCode::resource_exhausted);
}

TEST_F(SessionLogicTest, CancelOfAnUnknownIdIsIgnored) {
  client.send(CancelRequest{12});
  EXPECT_TRUE(client.heard().empty());
  EXPECT_FALSE(client.logic->over());
}

TEST_F(SessionLogicTest, AdminRequestsNeedTheRight) {
  Conversation stranger(service, {4711, 4711, 2, {}});
  stranger.send(PurgeRequest{1, {}});
  EXPECT_EQ(only_error(stranger).code, ErrorCode::permission_denied);
  stranger.send(VerifyRequest{2, {}});
  EXPECT_EQ(only_error(stranger).code, ErrorCode::permission_denied);
  for (const std::uint32_t uid : {0u, 1000u, 1001u}) {  // root, the daemon's own, an admin
    Conversation admin(service, {uid, uid, 3, {}});
    admin.send(PurgeRequest{1, {}});
    service.executor.run();
    EXPECT_EQ(admin.heard_of<PurgeReply>(admin.heard()).size(), 1u) << uid;
  }
}

TEST_F(SessionLogicTest, WhereThereIsAListOnlyThoseInItMayAsk) {
  service.parts.access = AccessRules(1000, {{1001}, {}}, {{2000}, {3000}});
  const auto answered = [&](Peer peer) {
    Conversation who(service, std::move(peer));
    who.send(StatsRequest{1});
    const auto all = who.heard();
    const auto errors = who.heard_of<ErrorReply>(all);
    EXPECT_TRUE(errors.empty() || errors[0].code == ErrorCode::permission_denied);
    return who.heard_of<StatsReply>(all).size() == 1;
  };
  EXPECT_TRUE(answered({0, 0, 1, {}})) << "root";
  EXPECT_TRUE(answered({1000, 1000, 1, {}})) << "the daemon's own";
  EXPECT_TRUE(answered({1001, 1001, 1, {}})) << "an admin";
  EXPECT_TRUE(answered({2000, 5, 1, {}})) << "by user";
  EXPECT_TRUE(answered({7, 3000, 1, {}})) << "by group";
  EXPECT_TRUE(answered({7, 7, 1, {1, 3000}})) << "by a supplementary group";
  EXPECT_FALSE(answered({7, 7, 1, {1, 2000}}));
  service.parts.access = AccessRules(1000, {{}, {3000}}, {});
  Conversation admin(service, {7, 7, 1, {3000}});
  admin.send(PurgeRequest{1, {}});
  service.executor.run();
  EXPECT_EQ(admin.heard_of<PurgeReply>(admin.heard()).size(), 1u) << "an admin by group";
}

TEST_F(SessionLogicTest, ARequestThatIsRefusedStartsNothing) {
  auto request = one_kernel(1);
  request.kernels.push_back({{}, "m1n1k1"});
  client.send(request);
  const auto error = only_error(client);
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_NE(error.message.find("kernel 1"), std::string::npos) << error.message;
  service.executor.run();
  EXPECT_EQ(service.pool.submitted(), 0u);
}

TEST_F(SessionLogicTest, EndingLetsWhatIsInFlightBeAnsweredFirst) {
  client.send(one_kernel(1));
  service.executor.run();
  client.logic->end();
  EXPECT_FALSE(client.logic->over());
  service.pool.succeed_all();
  service.executor.run();
  EXPECT_FALSE(client.logic->over()) << "written first";
  EXPECT_EQ(client.heard_of<SummaryReply>(client.heard()).size(), 1u);
  EXPECT_TRUE(client.logic->over());
}

TEST_F(SessionLogicTest, RepliesThatComeLaterWakeTheWriter) {
  client.send(one_kernel(1));
  service.executor.run();
  const int before = client.wakeups;
  service.pool.succeed_all();
  service.executor.run();
  EXPECT_GT(client.wakeups, before);
}

TEST_F(SessionLogicTest, AHitDoesNotWakeTheWriterTwice) {
  client.send(one_kernel(1));
  service.executor.run();
  service.pool.succeed_all();
  service.executor.run();
  static_cast<void>(client.heard());
  const int before = client.wakeups;
  client.send(one_kernel(2));
  EXPECT_EQ(client.wakeups, before) << "the caller of received() writes";
  EXPECT_EQ(client.heard_of<SummaryReply>(client.heard()).size(), 1u);
}

}  // namespace
}  // namespace cubind::test
