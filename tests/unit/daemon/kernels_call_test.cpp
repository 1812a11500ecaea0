#include "daemon/kernels_call.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "protocol/limits.hpp"
#include "tests/unit/daemon/service_harness.hpp"

namespace cubind::test {
namespace {

using namespace std::chrono_literals;

struct KernelsCallTest : testing::Test {
  Service service;
  Conversation client{service};

  std::vector<Heard> settle(Conversation& who) {
    service.executor.run();
    return who.heard();
  }
  void build(std::size_t index) {  // puts a kernel into both tiers
    Conversation other(service);
    other.send(one_kernel(1, index));
    service.executor.run();
    service.pool.succeed_all();
    service.executor.run();
    ASSERT_EQ(other.heard_of<SummaryReply>(other.heard()).size(), 1u);
  }
  template <class Kind>
  Kind only(Conversation& who, const std::vector<Heard>& all) {
    const auto found = who.heard_of<Kind>(all);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? Kind{} : found.front();
  }
};

TEST_F(KernelsCallTest, AColdKernelIsCompiledStoredAndAnswered) {
  client.send(one_kernel(5));
  EXPECT_TRUE(settle(client).empty());
  ASSERT_EQ(service.pool.jobs(), 1u);
  const auto unit = service.pool.unit(1);
  EXPECT_EQ(service.pool.priority(1), Priority::foreground);
  service.pool.succeed(1);
  const auto all = settle(client);
  ASSERT_EQ(all.size(), 2u);
  const auto reply = only<KernelReply>(client, all);
  EXPECT_EQ(reply.id, 5u);
  EXPECT_EQ(reply.code, ErrorCode::ok);
  EXPECT_EQ(reply.key, unit.key);
  EXPECT_EQ(reply.outcome, Outcome::built);
  EXPECT_EQ(all[0].code, ScriptedPool::output_of(unit).cubin);
  EXPECT_EQ(sha256(all[0].code), reply.cubin_digest);
  const auto summary = only<SummaryReply>(client, all);
  EXPECT_EQ(summary.total, 1u);
  EXPECT_EQ(summary.built, 1u);
  EXPECT_EQ(service.store.artifacts.count(unit.key), 1u);
}

TEST_F(KernelsCallTest, TheSecondTimeItIsAHitThatTouchesNoDisk) {
  build(0);
  const int gets = service.store.gets;
  client.send(one_kernel(6));
  const auto all = client.heard();
  EXPECT_EQ(only<KernelReply>(client, all).outcome, Outcome::hit_memory);
  EXPECT_EQ(service.store.gets, gets);
  EXPECT_EQ(service.store.touches, 1) << "a use for the store's eviction all the same";
  EXPECT_EQ(service.pool.submitted(), 1u);
}

TEST_F(KernelsCallTest, WhatMemoryLostIsReadFromDisk) {
  build(0);
  service.memory.clear();
  client.send(one_kernel(6));
  const auto all = settle(client);
  EXPECT_EQ(only<KernelReply>(client, all).outcome, Outcome::hit_disk);
  EXPECT_FALSE(all[0].code.empty());
  EXPECT_EQ(only<SummaryReply>(client, all).hits_disk, 1u);
}

TEST_F(KernelsCallTest, ManyWhoAskForOneKernelShareOneCompile) {
  std::vector<std::unique_ptr<Conversation>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Conversation>(service));
    clients.back()->send(one_kernel(1));
  }
  service.executor.run();
  EXPECT_EQ(service.pool.submitted(), 1u);
  service.pool.succeed_all();
  service.executor.run();
  int built = 0, joined = 0;
  for (auto& one : clients) {
    const auto outcome = only<KernelReply>(*one, one->heard()).outcome;
    built += outcome == Outcome::built ? 1 : 0;
    joined += outcome == Outcome::joined ? 1 : 0;
  }
  EXPECT_EQ(built, 1);
  EXPECT_EQ(joined, 7);
}

TEST_F(KernelsCallTest, ADeadClientDoesNotStopWhatAnotherWaitsFor) {
  auto other = std::make_unique<Conversation>(service);
  other->send(one_kernel(1));
  service.executor.run();
  client.send(one_kernel(1));
  service.executor.run();
  other.reset();
  EXPECT_EQ(service.pool.priority(1), Priority::foreground);
  service.pool.succeed(1);
  EXPECT_EQ(only<KernelReply>(client, settle(client)).outcome, Outcome::joined);
}

TEST_F(KernelsCallTest, ACompileThatNobodyWaitsForIsDemotedAndKept) {
  client.send(one_kernel(1));
  service.executor.run();
  client.logic.reset();
  ASSERT_EQ(service.pool.jobs(), 1u);
  EXPECT_EQ(service.pool.priority(1), Priority::prewarm);
  service.pool.succeed(1);
  service.executor.run();
  EXPECT_EQ(service.store.artifacts.size(), 1u);
}

TEST_F(KernelsCallTest, CancelEndsTheRequestWithItsOpenKernelsCancelled) {
  build(0);
  auto request = one_kernel(9, 0);
  request.kernels.push_back(catalogue_kernel(1));
  client.send(request);
  service.executor.run();
  client.send(CancelRequest{9});
  const auto all = client.heard();
  const auto kernels = client.heard_of<KernelReply>(all);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].code, ErrorCode::ok);
  EXPECT_EQ(kernels[1].code, ErrorCode::cancelled);
  EXPECT_EQ(only<SummaryReply>(client, all).failed, 1u);
  service.pool.succeed_all();
  EXPECT_TRUE(settle(client).empty()) << "nothing after the summary";
}

TEST_F(KernelsCallTest, ADeadlineThatPassesIsPendingAndTheCompileGoesOn) {
  auto request = one_kernel(2);
  request.deadline_ms = 300;
  client.send(request);
  service.executor.run();
  ASSERT_TRUE(client.logic->next_wakeup().has_value());
  EXPECT_EQ(*client.logic->next_wakeup() - service.clock.now(), 300ms);
  service.clock.advance(299ms);
  client.logic->tick(service.clock.now());
  EXPECT_TRUE(client.heard().empty());
  service.clock.advance(1ms);
  client.logic->tick(service.clock.now());
  const auto all = client.heard();
  EXPECT_EQ(only<KernelReply>(client, all).code, ErrorCode::pending);
  EXPECT_EQ(only<SummaryReply>(client, all).pending, 1u);
  EXPECT_EQ(service.pool.jobs(), 1u);
}

// Row C2 of docs/faults.md.
TEST_F(KernelsCallTest, ALongCompileIsWaitedForAsLongAsTheDeadlineAllows) {
  Conversation patient(service), hasty(service);
  auto request = one_kernel(1);
  request.deadline_ms = 300'000;
  patient.send(request);
  request.deadline_ms = 10'000;
  hasty.send(request);
  service.executor.run();
  std::vector<Heard> heard_by_hasty;
  for (int second = 0; second < 120; ++second) {
    service.clock.advance(1s);
    for (auto* who : {&patient, &hasty}) who->logic->tick(service.clock.now());
    for (auto& one : hasty.heard()) heard_by_hasty.push_back(std::move(one));
  }
  EXPECT_EQ(only<KernelReply>(hasty, heard_by_hasty).code, ErrorCode::pending);
  EXPECT_EQ(service.pool.submitted(), 1u);
  service.pool.succeed_all();
  EXPECT_EQ(only<KernelReply>(patient, settle(patient)).code, ErrorCode::ok);
}

// Row D6 of docs/faults.md.
TEST_F(KernelsCallTest, AKernelBelongsToTheUserWhoHadItMade) {
  Conversation first(service, Peer{1234, 1234, 1, {}}), second(service, Peer{4321, 4321, 1, {}});
  first.send(one_kernel(1));
  second.send(one_kernel(1));
  service.executor.run();
  service.pool.succeed_all();
  service.executor.run();
  ASSERT_EQ(service.store.owners.size(), 1u);
  EXPECT_EQ(service.store.owners.begin()->second, 1234u);
}

// Row I8 of docs/faults.md.
TEST_F(KernelsCallTest, ACompileOfMoreThanTwoSecondsIsAWarningWithItsName) {
  configure_log(LogLevel::warn, LogFormat::text);
  const auto said = [&](std::size_t index, double ms) {
    client.send(one_kernel(index + 1, index));
    service.executor.run();
    service.pool.wall_ms = ms;
    testing::internal::CaptureStderr();
    service.pool.succeed_all();
    service.executor.run();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(0, 1999), "");
  const auto line = said(1, 2500);
  configure_log(LogLevel::off, LogFormat::text);
  EXPECT_NE(line.find(" warn compile "), std::string::npos) << line;
  EXPECT_NE(line.find(" name=w4a16-bf16"), std::string::npos) << line;
  EXPECT_NE(line.find(" ms=2500 "), std::string::npos) << line;
}

TEST_F(KernelsCallTest, WhoWaitsHearsProgressAtLeastEverySecond) {
  service.pool.workers = 1;
  auto request = one_kernel(3, 0);
  request.kernels.push_back(catalogue_kernel(1));
  client.send(request);
  service.executor.run();
  for (int second = 1; second <= 3; ++second) {
    int frames = 0;
    for (const auto end = service.clock.now() + 1s; service.clock.now() < end;) {
      const auto wakeup = client.logic->next_wakeup();
      ASSERT_TRUE(wakeup.has_value());
      service.clock.advance(std::chrono::duration_cast<std::chrono::milliseconds>(*wakeup - service.clock.now()));
      client.logic->tick(service.clock.now());
      for (const auto& progress : client.heard_of<ProgressReply>(client.heard())) {
        ++frames;
        EXPECT_EQ(progress.total, 2u);
        EXPECT_EQ(progress.ready, 0u);
        EXPECT_EQ(progress.compiling, 1u);
        EXPECT_EQ(progress.queued, 1u);
      }
    }
    EXPECT_GE(frames, 1) << "in second " << second;
  }
}

TEST_F(KernelsCallTest, HitOnlyAnswersAMissAtOnceAndQueuesItsCompile) {
  build(0);
  service.memory.clear();
  auto request = one_kernel(4, 0);
  request.kernels.push_back(catalogue_kernel(1));
  request.mode = RequestMode::hit_only;
  client.send(request);
  const auto all = settle(client);
  const auto kernels = client.heard_of<KernelReply>(all);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].code, ErrorCode::ok);
  EXPECT_EQ(kernels[0].outcome, Outcome::hit_disk);
  EXPECT_EQ(kernels[1].code, ErrorCode::pending);
  EXPECT_EQ(only<SummaryReply>(client, all).pending, 1u);
  ASSERT_EQ(service.pool.jobs(), 1u);
  EXPECT_EQ(service.pool.priority(service.pool.ids()[0]), Priority::prewarm) << "nobody waits for it";
}

TEST_F(KernelsCallTest, HitOnlyJoiningARunningCompileIsPendingToo) {
  Conversation other(service);
  other.send(one_kernel(1));
  service.executor.run();
  auto request = one_kernel(4);
  request.mode = RequestMode::hit_only;
  client.send(request);
  EXPECT_EQ(only<KernelReply>(client, client.heard()).code, ErrorCode::pending);
  EXPECT_EQ(service.pool.priority(1), Priority::foreground) << "the other one still waits";
}

TEST_F(KernelsCallTest, PrefetchQueuesAndSendsNoCode) {
  build(0);
  auto request = one_kernel(4, 0);
  request.kernels.push_back(catalogue_kernel(1));
  request.mode = RequestMode::prefetch;
  client.send(request);
  const auto all = settle(client);
  const auto kernels = client.heard_of<KernelReply>(all);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].code, ErrorCode::ok);
  EXPECT_EQ(kernels[0].code_bytes, 0u);
  EXPECT_EQ(kernels[1].code, ErrorCode::pending);
  EXPECT_EQ(service.pool.priority(service.pool.ids()[0]), Priority::prewarm);
}

TEST_F(KernelsCallTest, AForegroundRequestLiftsAPrewarmCompile) {
  auto prewarm = one_kernel(1);
  prewarm.mode = RequestMode::prefetch;
  client.send(prewarm);
  service.executor.run();
  EXPECT_EQ(service.pool.priority(1), Priority::prewarm);
  client.send(one_kernel(2));
  EXPECT_EQ(service.pool.priority(1), Priority::foreground);
}

TEST_F(KernelsCallTest, HeldKernelsAndRequestsWithoutCodeBringNoBytes) {
  build(0);
  auto request = one_kernel(1);
  client.send(request);
  const auto key = only<KernelReply>(client, client.heard()).key;
  request.id = 2;
  request.held = {key};
  client.send(request);
  const auto held = client.heard();
  EXPECT_EQ(only<KernelReply>(client, held).code_bytes, 0u);
  EXPECT_EQ(only<KernelReply>(client, held).code, ErrorCode::ok);
  request.id = 3;
  request.held.clear();
  request.with_code = false;
  client.send(request);
  EXPECT_EQ(only<KernelReply>(client, client.heard()).code_bytes, 0u);
}

TEST_F(KernelsCallTest, ByKeyIsAnsweredFromTheStoreAloneAndAMissIsNotFound) {
  build(0);
  const auto key = service.store.artifacts.begin()->first;
  service.memory.clear();
  auto request = kernels_request(1);
  request.keys = {key, sha256(as_bytes("nothing"))};
  client.send(request);
  const auto kernels = client.heard_of<KernelReply>(settle(client));
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].outcome, Outcome::hit_disk);
  EXPECT_EQ(kernels[1].code, ErrorCode::not_found);
  EXPECT_EQ(service.pool.submitted(), 1u);
}

TEST_F(KernelsCallTest, ByKeyDoesNotKeepAnotherFromBuilding) {
  const auto key = service.planner.plan_kernel(catalogue_kernel(0), {90, '\0'}, {}).value()->key;
  auto by_key = kernels_request(1);
  by_key.keys = {key};
  client.send(by_key);
  Conversation other(service);
  other.send(one_kernel(1));
  service.executor.run();
  EXPECT_EQ(only<KernelReply>(client, client.heard()).code, ErrorCode::not_found);
  service.pool.succeed_all();
  EXPECT_EQ(only<KernelReply>(other, settle(other)).code, ErrorCode::ok);
}

TEST_F(KernelsCallTest, ALayerBringsItsTableThenEachDistinctKernelOnce) {
  auto request = kernels_request(1);
  request.layers = {{{}, 4096, 4096, 8192}, {{}, 28672, 4096, 8192}};
  client.send(request);
  service.executor.run();
  service.pool.succeed_all();
  const auto all = settle(client);
  const auto tables = client.heard_of<TableReply>(all);
  ASSERT_EQ(tables.size(), 2u);
  ASSERT_TRUE(std::holds_alternative<TableReply>(all[0].reply) && std::holds_alternative<TableReply>(all[1].reply));
  std::vector<KernelKey> named;
  for (const auto& table : tables) {
    std::uint32_t next = 1;
    for (const auto& row : table.rows) {
      EXPECT_EQ(row.m_first, next);
      next = row.m_last + 1;
      ASSERT_LT(row.kernel, table.kernels.size());
    }
    EXPECT_EQ(next, 8193u);
    named.insert(named.end(), table.kernels.begin(), table.kernels.end());
  }
  std::vector<KernelKey> sent;
  for (const auto& kernel : client.heard_of<KernelReply>(all)) sent.push_back(kernel.key);
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  std::sort(sent.begin(), sent.end());
  EXPECT_EQ(named, sent);
  EXPECT_EQ(service.pool.submitted(), sent.size());
}

TEST_F(KernelsCallTest, WholeCatalogueBringsAllThatAnyShapeCouldUse) {
  auto request = kernels_request(1);
  request.layers = {{{}, 4096, 4096, 8192}};
  request.whole_catalogue = true;
  request.with_code = false;
  client.send(request);
  service.executor.run();
  EXPECT_EQ(service.pool.submitted(), reachable({}, {90, '\0'}, 8192)->size());
}

TEST_F(KernelsCallTest, AFailedCompileIsToldOnceAndRemembered) {
  client.send(one_kernel(1));
  service.executor.run();
  service.pool.fail(1, ErrorCode::compile_failed);
  const auto told = only<KernelReply>(client, settle(client));
  EXPECT_EQ(told.code, ErrorCode::compile_failed);
  EXPECT_EQ(told.info.log, "the compiler's words");
  client.send(one_kernel(2));
  const auto again = only<KernelReply>(client, settle(client));
  EXPECT_EQ(again.code, ErrorCode::compile_failed);
  EXPECT_EQ(again.info.log, told.info.log);
  EXPECT_EQ(service.pool.submitted(), 1u);
}

TEST_F(KernelsCallTest, OtherFailuresAreTriedAgain) {
  std::uint64_t id = 0;
  for (const auto code :
       {ErrorCode::timed_out, ErrorCode::resource_exhausted, ErrorCode::internal, ErrorCode::unavailable}) {
    client.send(one_kernel(++id));
    service.executor.run();
    service.pool.fail(id, code);
    EXPECT_EQ(only<KernelReply>(client, settle(client)).code, code);
  }
  EXPECT_EQ(service.pool.submitted(), 4u);
  EXPECT_TRUE(service.store.failures.empty());
}

TEST_F(KernelsCallTest, AFullQueueIsResourceExhausted) {
  Service small({test_toolchain()}, 1);
  Conversation one(small);
  auto request = one_kernel(1, 0);
  request.kernels.push_back(catalogue_kernel(1));
  one.send(request);
  small.executor.run();
  EXPECT_EQ(only<KernelReply>(one, one.heard()).code, ErrorCode::resource_exhausted);
}

TEST_F(KernelsCallTest, AFailedPutIsServedAllTheSame) {
  service.store.put_fails = true;
  client.send(one_kernel(1));
  service.executor.run();
  service.pool.succeed(1);
  EXPECT_EQ(only<KernelReply>(client, settle(client)).code, ErrorCode::ok);
  client.send(one_kernel(2));
  EXPECT_EQ(only<KernelReply>(client, client.heard()).outcome, Outcome::hit_memory);
}

TEST_F(KernelsCallTest, WithoutTheToolchainHitsAreServedAndMissesUnavailable) {
  build(0);
  Service bare({test_toolchain(/*installed=*/false)});
  bare.store.artifacts = service.store.artifacts;
  Conversation one(bare);
  auto request = one_kernel(1, 0);
  request.kernels.push_back(catalogue_kernel(1));
  one.send(request);
  bare.executor.run();
  const auto kernels = one.heard_of<KernelReply>(one.heard());
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].outcome, Outcome::hit_disk);
  EXPECT_EQ(kernels[1].code, ErrorCode::unavailable);
}

TEST_F(KernelsCallTest, AtTheEndRunningCompilesAreAnsweredAndQueuedOnesUnavailable) {
  service.pool.workers = 1;
  auto request = one_kernel(1, 0);
  request.kernels.push_back(catalogue_kernel(1));
  client.send(request);
  service.executor.run();
  bool idle = false;
  service.kernels.drain([&] { idle = true; });
  service.executor.run();
  EXPECT_EQ(only<KernelReply>(client, client.heard()).code, ErrorCode::unavailable);
  EXPECT_FALSE(idle);
  service.pool.succeed_all();
  const auto all = settle(client);
  EXPECT_EQ(only<KernelReply>(client, all).code, ErrorCode::ok);
  EXPECT_EQ(only<SummaryReply>(client, all).built, 1u);
  EXPECT_TRUE(idle);
}

TEST_F(KernelsCallTest, AfterTheGraceRunningCompilesAreUnavailable) {
  client.send(one_kernel(1));
  service.executor.run();
  bool idle = false;
  service.kernels.drain([&] { idle = true; });
  service.kernels.cancel_running();
  EXPECT_EQ(only<KernelReply>(client, settle(client)).code, ErrorCode::unavailable);
  EXPECT_TRUE(idle);
}

TEST_F(KernelsCallTest, ASlowReaderIsNotAnsweredAheadOfItsReading) {
  // Two hundred kernels of 64 KiB on disk, asked for by key in one request.
  auto request = kernels_request(1);
  for (int i = 0; i < 200; ++i) {
    Artifact artifact;
    artifact.key = sha256(as_bytes("key " + std::to_string(i)));
    artifact.info.launch_abi = kLaunchAbi;
    artifact.info.weight_layout = kWeightLayout;
    artifact.cubin = std::make_shared<const Bytes>(64 << 10);
    service.store.artifacts[artifact.key] = artifact;
    request.keys.push_back(artifact.key);
  }
  client.send(request);
  service.executor.run();
  const auto bound = limits::kMaxQueuedReplyBytes + (65 << 10);
  EXPECT_LE(client.logic->output().bytes(), bound);
  EXPECT_LE(service.store.gets, 64 + 64) << "reads stop while the reader is behind";
  EXPECT_FALSE(client.logic->wants_input());

  std::size_t kernels = 0, summaries = 0;
  for (int round = 0; round < 1000 && summaries == 0; ++round) {
    const auto all = client.heard(256 << 10);
    kernels += client.heard_of<KernelReply>(all).size();
    summaries += client.heard_of<SummaryReply>(all).size();
    EXPECT_LE(client.logic->output().bytes(), bound);
    service.executor.run();
  }
  EXPECT_EQ(kernels, 200u);
  EXPECT_EQ(summaries, 1u);
}

}  // namespace
}  // namespace cubind::test
