#include "daemon/admin.hpp"

#include <gtest/gtest.h>

#include "tests/unit/daemon/service_harness.hpp"

namespace cubind::test {
namespace {

struct AdminTest : testing::Test {
  Service service;
  Conversation client{service};

  KernelKey build(std::size_t index) {
    client.send(one_kernel(100 + index, index));
    service.executor.run();
    service.pool.succeed_all();
    service.executor.run();
    return client.heard_of<KernelReply>(client.heard()).front().key;
  }
  template <class Kind>
  std::vector<Kind> ask(const Request& request) {
    client.send(request);
    service.executor.run();
    return client.heard_of<Kind>(client.heard());
  }
};

TEST_F(AdminTest, ListPagesThroughDiskAndMemoryInOrderOfKeys) {
  std::vector<KernelKey> keys;
  for (std::size_t i = 0; i < 5; ++i) {
    service.store.put_fails = i == 2;  // one that is in memory only
    keys.push_back(build(i));
  }
  std::sort(keys.begin(), keys.end());
  std::vector<KernelKey> listed;
  for (KernelKey after;;) {
    const auto page = ask<ListReply>(ListRequest{1, 2, after});
    ASSERT_EQ(page.size(), 1u);
    for (const auto& record : page[0].records) listed.push_back(record.key);
    if (page[0].records.size() < 2) break;
    after = listed.back();
  }
  EXPECT_EQ(listed, keys);
}

TEST_F(AdminTest, PurgeOfOneKeyLeavesTheOthers) {
  const auto gone = build(0), kept = build(1);
  const auto purged = ask<PurgeReply>(PurgeRequest{1, gone});
  ASSERT_EQ(purged.size(), 1u);
  EXPECT_EQ(purged[0].records, 1u);
  EXPECT_GT(purged[0].bytes, 0u);
  EXPECT_EQ(service.store.artifacts.count(gone), 0u);
  EXPECT_EQ(service.memory.get(gone), nullptr);
  EXPECT_NE(service.memory.get(kept), nullptr);
}

TEST_F(AdminTest, PurgeOfEverythingCountsWhatIsInMemoryOnly) {
  build(0);
  service.store.put_fails = true;
  build(1);
  const auto purged = ask<PurgeReply>(PurgeRequest{1, {}});
  ASSERT_EQ(purged.size(), 1u);
  EXPECT_EQ(purged[0].records, 2u);
  EXPECT_EQ(service.memory.size(), 0u);
  EXPECT_TRUE(service.store.artifacts.empty());
}

TEST_F(AdminTest, VerifyRecompilesEachRecordAndComparesDigests) {
  build(0);
  const auto damaged = build(1);
  service.store.artifacts[damaged].cubin_digest.bytes[0] ^= 1;
  client.send(VerifyRequest{1, {}});
  service.executor.run();
  for (const auto id : service.pool.ids()) EXPECT_EQ(service.pool.priority(id), Priority::prewarm);
  service.pool.succeed_all();
  service.executor.run();
  const auto all = client.heard();
  const auto verified = client.heard_of<VerifyReply>(all);
  ASSERT_EQ(verified.size(), 2u);
  for (const auto& one : verified) EXPECT_EQ(one.matches, one.key != damaged) << one.message;
  const auto summary = client.heard_of<SummaryReply>(all);
  ASSERT_EQ(summary.size(), 1u);
  EXPECT_EQ(summary[0].total, 2u);
  EXPECT_EQ(summary[0].failed, 1u);
}

TEST_F(AdminTest, VerifyOfAnUnknownKeyIsNotFound) {
  const auto errors = ask<ErrorReply>(VerifyRequest{1, sha256(as_bytes("nothing"))});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, ErrorCode::not_found);
}

TEST_F(AdminTest, VerifyCanBeCancelledAndItsCompilesStop) {
  build(0);
  build(1);
  client.send(VerifyRequest{1, {}});
  service.executor.run();
  EXPECT_EQ(service.pool.jobs(), 2u);
  client.send(CancelRequest{1});
  EXPECT_EQ(client.heard_of<SummaryReply>(client.heard()).size(), 1u);
  EXPECT_EQ(service.pool.jobs(), 0u);
  service.executor.run();
  EXPECT_TRUE(client.heard().empty());
}

TEST_F(AdminTest, ALostConnectionStopsItsVerification) {
  build(0);
  client.send(VerifyRequest{1, {}});
  service.executor.run();
  client.logic.reset();
  EXPECT_EQ(service.pool.jobs(), 0u);
  service.executor.run();
}

TEST_F(AdminTest, ExplainListsWhatTheKeyIsMadeFrom) {
  const auto key = build(0);
  const auto replies = ask<ExplainReply>(ExplainRequest{1, catalogue_kernel(0), {90, '\0'}, {}, true});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].key, key);
  FieldHasher hasher;
  for (const auto& ingredient : replies[0].ingredients) hasher.field(ingredient.name, ingredient.value);
  EXPECT_EQ(hasher.finish(), key);
  EXPECT_NE(replies[0].source.find("cubind_kernel"), std::string::npos);
}

TEST_F(AdminTest, HealthSaysWhyItIsNotOk) {
  EXPECT_EQ(ask<HealthReply>(HealthRequest{1})[0].state, HealthState::ok);
  Service bare{std::vector<Toolchain>{}};
  Conversation one(bare);
  one.send(HealthRequest{1});
  const auto health = one.heard_of<HealthReply>(one.heard());
  ASSERT_EQ(health.size(), 1u);
  EXPECT_EQ(health[0].state, HealthState::degraded);
  ASSERT_EQ(health[0].reasons.size(), 1u);
  service.kernels.drain([] {});
  EXPECT_EQ(ask<HealthReply>(HealthRequest{2})[0].state, HealthState::stopping);
}

TEST_F(AdminTest, CountersCountWhatHappened) {
  build(0);
  client.send(one_kernel(1, 0));
  static_cast<void>(client.heard());
  const auto stats = ask<StatsReply>(StatsRequest{2});
  ASSERT_EQ(stats.size(), 1u);
  const auto value = [&](std::string_view name) {
    for (const auto& counter : stats[0].counters) {
      if (counter.name == name) return counter.value;
    }
    return -1.0;
  };
  EXPECT_EQ(value("cubind_kernels_built_total"), 1);
  EXPECT_EQ(value("cubind_kernels_hit_memory_total"), 1);
  EXPECT_EQ(value("cubind_compiles_started_total"), 1);
  EXPECT_EQ(value("cubind_store_records"), 1);
  EXPECT_EQ(value("cubind_kernels_missed_total"), 1);
  EXPECT_EQ(value("cubind_slow_compiles_total"), 0);
}

TEST_F(AdminTest, ACompileAboveTwoSecondsCountsAsSlow) {
  service.pool.wall_ms = 2000;
  build(0);
  EXPECT_EQ(service.metrics.slow_compiles, 0u);
  service.pool.wall_ms = 2001;
  build(1);
  EXPECT_EQ(service.metrics.slow_compiles, 1u);
}

TEST_F(AdminTest, WaitsAreMeasuredFromRequestToAnswerAndHitsAreNone) {
  client.send(one_kernel(1, 0));
  service.executor.run();
  service.clock.advance(std::chrono::milliseconds(700));
  service.pool.succeed_all();
  service.executor.run();
  client.send(one_kernel(2, 0));
  EXPECT_EQ(service.metrics.hits_memory, 1u);
  EXPECT_EQ(service.metrics.wait_ms, 700);
}

}  // namespace
}  // namespace cubind::test
