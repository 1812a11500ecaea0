// What operators ask of a daemon: ready, reload, trace, the nearest key; and that older clients are not confused by it.
#include <gtest/gtest.h>

#include "protocol/limits.hpp"
#include "protocol/trace.hpp"
#include "tests/unit/daemon/service_harness.hpp"

namespace cubind::test {
namespace {

struct OperatingTest : testing::Test {
  Service service;
  Conversation client{service};

  // Sends it, lets everything that it starts end, and answers with what was heard.
  template <class Kind>
  std::vector<Kind> ask(Conversation& from, const Request& request) {
    from.send(request);
    service.executor.run();
    service.pool.succeed_all();
    service.executor.run();
    return from.heard_of<Kind>(from.heard());
  }
  void declare_ready(Conversation& from, ReadyScope scope, bool off = false) {
    EXPECT_EQ(ask<DoneReply>(from, ReadyRequest{900, scope, off}).size(), 1u);
  }
  std::uint64_t alarms() const { return service.metrics.compiles_after_ready; }
};

TEST_F(OperatingTest, ACompileAfterReadyIsCountedAndOneBeforeIsNot) {
  ask<KernelReply>(client, one_kernel(1, 0));
  declare_ready(client, ReadyScope::connection);
  ask<KernelReply>(client, one_kernel(2, 0));  // a hit
  EXPECT_EQ(alarms(), 0u);
  ask<KernelReply>(client, one_kernel(3, 1));
  EXPECT_EQ(alarms(), 1u);
  declare_ready(client, ReadyScope::connection, /* off= */ true);
  ask<KernelReply>(client, one_kernel(4, 2));
  EXPECT_EQ(alarms(), 1u);
}

TEST_F(OperatingTest, ReadyIsTheConnectionsOwnUnlessTheUserDeclaresIt) {
  Conversation other(service);
  Conversation stranger(service, {4711, 4711, 2, {}});
  declare_ready(client, ReadyScope::connection);
  ask<KernelReply>(other, one_kernel(1, 0));
  EXPECT_EQ(alarms(), 0u);
  declare_ready(other, ReadyScope::user);
  client.logic.reset();  // who said it may go
  Conversation later(service);
  ask<KernelReply>(later, one_kernel(2, 1));
  EXPECT_EQ(alarms(), 1u);
  ask<KernelReply>(stranger, one_kernel(3, 2));
  EXPECT_EQ(alarms(), 1u);
  declare_ready(later, ReadyScope::user, /* off= */ true);
  ask<KernelReply>(later, one_kernel(4, 3));
  EXPECT_EQ(alarms(), 1u);
}

TEST_F(OperatingTest, OneCompileIsOneAlarmHoweverManyNeedIt) {
  Conversation other(service);
  declare_ready(client, ReadyScope::user);
  client.send(one_kernel(1, 0));
  other.send(one_kernel(1, 0));
  service.executor.run();
  EXPECT_EQ(alarms(), 1u);
}

TEST_F(OperatingTest, JoiningACompileThatPrewarmingStartedIsAnAlarmToo) {
  auto prewarm = one_kernel(1, 0);
  prewarm.mode = RequestMode::prefetch;
  client.send(prewarm);
  service.executor.run();
  declare_ready(client, ReadyScope::connection);  // and its compile ends
  service.pool.automatic = false;
  prewarm = one_kernel(2, 1);
  prewarm.mode = RequestMode::prefetch;
  client.send(prewarm);
  service.executor.run();
  EXPECT_EQ(alarms(), 0u) << "prewarming is meant to compile";
  client.send(one_kernel(3, 1));
  service.executor.run();
  EXPECT_EQ(alarms(), 1u);
}

TEST_F(OperatingTest, HitOnlyMissesOfAReadyClientAreAlarms) {
  declare_ready(client, ReadyScope::connection);
  auto request = one_kernel(1, 0);
  request.mode = RequestMode::hit_only;
  ask<KernelReply>(client, request);
  EXPECT_EQ(alarms(), 1u);
}

TEST_F(OperatingTest, KindsOfVersion2AreRefusedOnAConnectionOfVersion1) {
  Conversation old(service, {1000, 1000, 1, {}}, true, 1);
  for (const Request& request : {Request(ReadyRequest{1}), Request(ReloadRequest{2}), Request(TraceRequest{3}),
                                 Request(NearestRequest{4, catalogue_kernel(0), {90, '\0'}, {}})}) {
    const auto errors = ask<ErrorReply>(old, request);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].code, ErrorCode::invalid_argument);
    EXPECT_NE(errors[0].message.find("protocol version 2"), std::string::npos) << errors[0].message;
  }
  EXPECT_EQ(ask<StatsReply>(old, StatsRequest{5}).size(), 1u);
}

TEST_F(OperatingTest, TraceHoldsEachThingThatWasAskedForOnce) {
  auto layers = kernels_request(1);
  layers.layers.push_back({GemmDescriptor{}, 4096, 4096, 64});
  ask<SummaryReply>(client, layers);
  layers.id = 2;
  layers.layers.push_back({GemmDescriptor{}, 6144, 4096, 64});
  ask<SummaryReply>(client, layers);
  ask<SummaryReply>(client, one_kernel(3, 1));
  ask<ExplainReply>(client, ExplainRequest{4, catalogue_kernel(2), {90, '\0'}, {}, false});  // asks for no kernel
  const auto chunks = ask<ChunkReply>(client, TraceRequest{5});
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_TRUE(chunks[0].last);
  const auto entries = parse_trace(as_text(chunks[0].data));
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  ASSERT_EQ(entries->size(), 3u);
  std::set<std::uint32_t> ns;
  for (const auto& entry : *entries) {
    ns.insert(entry.n);
    EXPECT_EQ(entry.toolchain, test_toolchain().id);
  }
  EXPECT_EQ(ns, (std::set<std::uint32_t>{0, 4096, 6144}));
  EXPECT_EQ(service.planner.trace_entries(), 3u);
}

TEST_F(OperatingTest, AKernelThatWasExplainedFirstIsTracedWhenItIsAskedFor) {
  ask<ExplainReply>(client, ExplainRequest{1, catalogue_kernel(0), {90, '\0'}, {}, false});
  EXPECT_EQ(service.planner.trace_entries(), 0u);
  ask<SummaryReply>(client, one_kernel(2, 0));
  EXPECT_EQ(service.planner.trace_entries(), 1u);
}

TEST_F(OperatingTest, ALongTraceComesInChunksAsItsReaderTakesThem) {
  auto request = kernels_request(1);
  request.with_code = false;
  for (std::uint32_t i = 1; i <= 3000; ++i) request.layers.push_back({GemmDescriptor{}, 64 * i, 4096, 16});
  ask<SummaryReply>(client, request);
  const auto chunks = ask<ChunkReply>(client, TraceRequest{2});
  ASSERT_GT(chunks.size(), 1u);
  std::string text;
  for (const auto& chunk : chunks) {
    EXPECT_LE(chunk.data.size(), limits::kMaxChunkBytes);
    text += as_text(chunk.data);
    EXPECT_EQ(chunk.last, &chunk == &chunks.back());
  }
  EXPECT_EQ(parse_trace(text).value().size(), 3000u);
}

TEST_F(OperatingTest, NearestNamesWhatDiffers) {
  EXPECT_TRUE(ask<NearestReply>(client, NearestRequest{1, catalogue_kernel(0), {90, '\0'}, {}})[0].nearest.is_zero());
  const auto stored = ask<KernelReply>(client, one_kernel(2, 0))[0].key;
  auto other_arch = one_kernel(3, 0);
  other_arch.arch = {80, '\0'};
  ask<KernelReply>(client, other_arch);

  const auto same = ask<NearestReply>(client, NearestRequest{4, catalogue_kernel(0), {90, '\0'}, {}});
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].key, stored);
  EXPECT_EQ(same[0].nearest, stored);
  EXPECT_TRUE(same[0].differences.empty());

  const auto near = ask<NearestReply>(client, NearestRequest{5, catalogue_kernel(1), {90, '\0'}, {}});
  ASSERT_EQ(near.size(), 1u);
  EXPECT_EQ(near[0].nearest, stored);
  std::set<std::string> names;
  for (const auto& difference : near[0].differences) {
    names.insert(difference.name);
    EXPECT_NE(difference.asked, difference.stored);
  }
  EXPECT_TRUE(names.contains("config"));
  EXPECT_FALSE(names.contains("arch"));
}

TEST_F(OperatingTest, ReloadIsForAdminsAndSaysWhatCameOfIt) {
  const auto without = ask<ErrorReply>(client, ReloadRequest{1});
  ASSERT_EQ(without.size(), 1u);
  EXPECT_EQ(without[0].code, ErrorCode::not_supported);
  int reloads = 0;
  service.parts.reload = [&reloads]() -> Result<std::string> {
    if (++reloads == 2) return Error{ErrorCode::invalid_argument, "line 3 is wrong"};
    return std::string("applied: log.level");
  };
  EXPECT_EQ(ask<DoneReply>(client, ReloadRequest{2})[0].message, "applied: log.level");
  EXPECT_EQ(ask<ErrorReply>(client, ReloadRequest{3})[0].message, "line 3 is wrong");
  Conversation stranger(service, {4711, 4711, 2, {}});
  EXPECT_EQ(ask<ErrorReply>(stranger, ReloadRequest{4})[0].code, ErrorCode::permission_denied);
  EXPECT_EQ(reloads, 2);
}

}  // namespace
}  // namespace cubind::test
