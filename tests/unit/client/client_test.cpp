#include "client/client.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/scripted_daemon.hpp"

namespace cubind {
namespace {

using std::chrono::milliseconds;
using test::MadeUpService;
using test::ScriptedDaemon;
using test::Session;
using test::TemporarySocket;

KernelsRequest one_layer() {
  KernelsRequest request;
  request.arch = {90, 'a'};
  request.sm_count = 132;
  request.layers.push_back({GemmDescriptor{}, 4096, 4096, 1024});
  return request;
}

class ClientTest : public testing::Test {
 protected:
  ClientOptions options() {
    ClientOptions made;
    made.socket_path = socket_.path();
    made.request_deadline = milliseconds(20'000);
    return made;
  }
  std::unique_ptr<Client> opened() {
    auto client = Client::open(options());
    EXPECT_TRUE(client.ok());
    return client ? std::move(client).value() : nullptr;
  }
  ScriptedDaemon::Handler service() {
    return [this](Session& session, const Request& request) { return service_(session, request); };
  }

  // What came, in order of arrival.
  KernelsCallbacks collect() {
    KernelsCallbacks callbacks;
    callbacks.table = [this](const TableReply& table) { tables_.push_back(table); };
    callbacks.kernel = [this](const KernelReply& reply, Bytes code) {
      kernels_.push_back(reply);
      codes_.push_back(std::move(code));
    };
    return callbacks;
  }

  TemporarySocket socket_;
  MadeUpService service_;
  ScriptedDaemon daemon_{socket_.path()};
  std::vector<TableReply> tables_;
  std::vector<KernelReply> kernels_;
  std::vector<Bytes> codes_;
};

TEST_F(ClientTest, AbsentDaemonIsATypedErrorAtOnce) {
  const auto client = Client::open(options());
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().code, ErrorCode::unavailable);
}

TEST_F(ClientTest, WaitsForAnAbsentDaemonWhereAskedFor) {
  ClientOptions patient = options();
  patient.connect_deadline = milliseconds(20'000);
  std::thread starter([&] { daemon_.start(service()); });
  const auto client = Client::open(patient);
  starter.join();
  EXPECT_TRUE(client.ok());
}

TEST_F(ClientTest, KernelsComeWithTablesCodeAndASummary) {
  daemon_.start(service());
  const auto client = opened();
  const auto summary = client->kernels(one_layer(), collect());
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->built, 2u);
  EXPECT_EQ(summary->compile_ms, 20);
  ASSERT_EQ(tables_.size(), 1u);
  ASSERT_EQ(codes_.size(), 2u);
  EXPECT_EQ(codes_[1], test::made_up_code(1));
}

TEST_F(ClientTest, RestartInTheMiddleAsksAgainWithoutWhatCame) {
  int requests = 0;
  daemon_.start([&](Session& session, const Request& request) {
    if (++requests > 1) return service_(session, request);
    const auto& wanted = std::get<KernelsRequest>(request);
    const Bytes code = test::made_up_code(0);
    session.reply(TableReply{wanted.id, 0, {{1, 1024, 0, 1, 4}}, {test::made_up_key(0)}});
    session.reply(test::made_up_kernel(wanted.id, 0), code);
    return false;  // dies
  });
  const auto client = opened();
  const auto summary = client->kernels(one_layer(), collect());
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(daemon_.connections(), 2);
  ASSERT_EQ(service_.requests.size(), 1u);
  EXPECT_EQ(service_.requests[0].held, std::vector<KernelKey>{test::made_up_key(0)});
  ASSERT_EQ(kernels_.size(), 2u) << "each kernel once";
  EXPECT_EQ(tables_.size(), 1u) << "each table once";
  EXPECT_EQ(summary->built, 2u);
}

TEST_F(ClientTest, QueuedKernelsOfAStoppingDaemonAreAskedOfTheNext) {
  bool stopping = true;
  daemon_.start([&](Session& session, const Request& request) {
    if (const auto* health = std::get_if<HealthRequest>(&request); health != nullptr && stopping) {
      stopping = false;
      HealthReply reply;
      reply.id = health->id;
      reply.state = HealthState::stopping;
      return session.reply(reply);
    }
    if (!stopping) return service_(session, request);
    KernelReply refused;
    refused.id = std::get<KernelsRequest>(request).id;
    refused.key = test::made_up_key(0);
    refused.code = ErrorCode::unavailable;
    return session.reply(refused) && session.reply(SummaryReply{refused.id});
  });
  const auto client = opened();
  const auto summary = client->kernels(one_layer(), collect());
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  ASSERT_EQ(kernels_.size(), 2u);
  EXPECT_EQ(kernels_[0].code, ErrorCode::ok);
}

TEST_F(ClientTest, UnavailableOfAHealthyDaemonIsItsAnswer) {
  daemon_.start([&](Session& session, const Request& request) {
    if (!std::holds_alternative<KernelsRequest>(request)) return service_(session, request);
    KernelReply refused;
    refused.id = std::get<KernelsRequest>(request).id;
    refused.key = test::made_up_key(0);
    refused.code = ErrorCode::unavailable;
    refused.message = "no toolchain";
    return session.reply(refused) && session.reply(SummaryReply{refused.id});
  });
  const auto client = opened();
  const auto summary = client->kernels(one_layer(), collect());
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->failed, 1u);
  ASSERT_EQ(kernels_.size(), 1u);
  EXPECT_EQ(kernels_[0].message, "no toolchain");
  EXPECT_EQ(daemon_.connections(), 1);
}

TEST_F(ClientTest, DaemonThatStaysAwayIsUnavailableAtTheDeadline) {
  daemon_.start(service());
  const auto client = opened();
  daemon_.stop();
  const auto summary = client->kernels(one_layer(), collect(), milliseconds(50));
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::unavailable);
  const auto health = client->health();
  ASSERT_FALSE(health.ok());
  EXPECT_EQ(health.error().code, ErrorCode::unavailable) << "and the short questions do not wait";
}

TEST_F(ClientTest, IdleConnectionThatDiedIsMadeAgain) {
  daemon_.start(service());
  const auto client = opened();
  daemon_.stop();
  daemon_.start(service());
  EXPECT_TRUE(client->health().ok());
  daemon_.stop();
  daemon_.start(service());
  EXPECT_TRUE(client->kernels(one_layer(), collect()).ok());
}

TEST_F(ClientTest, ProgressThatSaysNoCancelsAndTheConnectionStaysGood) {
  std::uint64_t cancelled = 0, asked = 0;
  daemon_.start([&](Session& session, const Request& request) {
    if (const auto* cancel = std::get_if<CancelRequest>(&request)) {
      cancelled = cancel->id;
      return session.reply(SummaryReply{cancel->id});
    }
    if (asked != 0) return service_(session, request);
    asked = std::get<KernelsRequest>(request).id;
    return session.reply(ProgressReply{asked, 2, 0, 1, 1, 5});
  });
  const auto client = opened();
  KernelsCallbacks callbacks = collect();
  callbacks.progress = [](const ProgressReply& now) { return now.total != 2; };
  const auto summary = client->kernels(one_layer(), callbacks);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::cancelled);
  EXPECT_EQ(cancelled, asked);
  EXPECT_TRUE(client->kernels(one_layer(), collect()).ok());
  EXPECT_EQ(daemon_.connections(), 1);
}

TEST_F(ClientTest, RefusalOfTheWholeRequestIsTheError) {
  daemon_.start([&](Session& session, const Request& request) {
    return session.reply(ErrorReply{std::get<KernelsRequest>(request).id, ErrorCode::not_supported, "field \"x\""});
  });
  const auto client = opened();
  const auto summary = client->kernels(one_layer(), collect());
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error(), (Error{ErrorCode::not_supported, "field \"x\""}));
}

TEST_F(ClientTest, KernelWithoutTheCodeThatWasAskedForIsCorruption) {
  daemon_.start([&](Session& session, const Request& request) {
    KernelReply bare = test::made_up_kernel(std::get<KernelsRequest>(request).id, 0);
    bare.code_bytes = 0;
    return session.reply(bare);
  });
  const auto client = opened();
  const auto summary = client->kernels(one_layer(), collect());
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::corruption);
}

TEST_F(ClientTest, RepliesOfAnEarlierRequestAreDropped) {
  daemon_.start([&](Session& session, const Request& request) {
    if (const auto* stats = std::get_if<StatsRequest>(&request)) {
      return session.reply(SummaryReply{stats->id + 1000}) && session.reply(StatsReply{stats->id, {{"a", 1}}});
    }
    return false;
  });
  const auto client = opened();
  const auto stats = client->stats();
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->counters.size(), 1u);
}

TEST_F(ClientTest, ReadyIsSaidAgainToTheDaemonOfTheNextConnection) {
  daemon_.start(service());
  const auto client = opened();
  ASSERT_TRUE(client->declare_ready(true).ok());
  ASSERT_EQ(service_.ready.size(), 1u);
  EXPECT_EQ(service_.ready[0].scope, ReadyScope::connection);
  daemon_.stop();
  ScriptedDaemon next(socket_.path());
  next.start(service());
  EXPECT_TRUE(client->kernels(one_layer(), {}).ok());
  ASSERT_EQ(service_.ready.size(), 2u);
  EXPECT_FALSE(service_.ready[1].off);
  ASSERT_TRUE(client->declare_ready(false).ok());
  EXPECT_TRUE(service_.ready[2].off);
  next.stop();
  ScriptedDaemon last(socket_.path());
  last.start(service());
  EXPECT_TRUE(client->health().ok());
  EXPECT_EQ(service_.ready.size(), 3u);
}

TEST_F(ClientTest, ADaemonOfVersion1IsNotSentWhatItDoesNotKnow) {
  daemon_.hello.version = 1;
  std::atomic<int> kinds{0};
  daemon_.start([&](Session& session, const Request& request) {
    if (request.index() > 7) ++kinds;
    return service_(session, request);
  });
  const auto client = opened();
  const auto refused = client->declare_ready(true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_supported);
  EXPECT_EQ(refused.error().message,
            "this needs protocol version 2, the daemon speaks version \"1\": the daemon is too old");
  EXPECT_EQ(client->trace().error().code, ErrorCode::not_supported);
  EXPECT_TRUE(client->health().ok());
  EXPECT_EQ(kinds, 0);
}

TEST_F(ClientTest, ForkedChildMakesAConnectionOfItsOwn) {
  daemon_.start(service());
  const auto client = opened();
  ASSERT_TRUE(client->health().ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const bool ok = client->health().ok() && client->kernels(one_layer(), {}).ok();
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(daemon_.connections(), 2);
  EXPECT_TRUE(client->health().ok()) << "the parent's connection was not disturbed";
  EXPECT_EQ(daemon_.connections(), 2);
}

TEST_F(ClientTest, ForkWhileAnotherThreadWaitsLeavesTheChildFree) {
  std::atomic<bool> inside{false};
  daemon_.start([&](Session& session, const Request& request) {
    if (std::holds_alternative<KernelsRequest>(request)) {
      inside = true;  // never answered by this connection
      inside.notify_one();
      return true;
    }
    return service_(session, request);
  });
  const auto client = opened();
  std::thread waiter([&] { static_cast<void>(client->kernels(one_layer(), {}, milliseconds(1))); });
  inside.wait(false);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(client->health().ok() ? 0 : 1);  // would wait for ever for the other thread's lock
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  daemon_.stop();
  waiter.join();
}

}  // namespace
}  // namespace cubind
