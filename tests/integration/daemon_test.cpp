#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/unique_fd.hpp"
#include "cache/rocks_store.hpp"
#include "protocol/codec.hpp"
#include "protocol/frame.hpp"
#include "protocol/limits.hpp"
#include "tests/integration/daemon_in_process.hpp"

namespace cubind::test {
namespace {

struct DaemonTest : testing::Test {
  DaemonTest() { configure_log(LogLevel::off, LogFormat::text); }

  TempFolder folder;
  Config config = test_config(folder);

  // A kernel compiled and stored by a daemon that has ended since.
  Incoming prepared(std::size_t index = 0) {
    DaemonInProcess daemon(config);
    daemon.pool().automatic = true;
    return Caller(config.socket_path).kernel(one_kernel(1, index));
  }
  UniqueFd connect_raw() const {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    config.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  static Bytes read_to_end(const UniqueFd& fd) {
    Bytes all;
    std::byte chunk[4096];
    for (ssize_t count; (count = ::recv(fd.get(), chunk, sizeof(chunk), 0)) > 0;) {
      all.insert(all.end(), chunk, chunk + count);
    }
    return all;
  }
};

TEST_F(DaemonTest, SixtyFourConnectionsAskForOneColdKernelAndOneCompileIsDone) {
  DaemonInProcess daemon(config);
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 64; ++i) callers.push_back(std::make_unique<Caller>(config.socket_path));
  for (auto& caller : callers) caller->send(one_kernel(1));
  daemon.wait_for_jobs(1);
  daemon.pool().succeed_all();
  std::set<Bytes> distinct;
  for (auto& caller : callers) {
    for (auto& incoming : caller->all()) {
      if (std::holds_alternative<KernelReply>(incoming.reply)) distinct.insert(std::move(incoming.code));
    }
  }
  EXPECT_EQ(distinct.size(), 1u);
  EXPECT_EQ(daemon.pool().submitted(), 1u);
}

TEST_F(DaemonTest, WhatWasAnsweredIsAHitAfterARestart) {
  const auto built = prepared();
  EXPECT_EQ(kernel_of(built).outcome, Outcome::built);
  DaemonInProcess daemon(config);
  Caller caller(config.socket_path);
  const auto hit = caller.kernel(one_kernel(1));
  EXPECT_EQ(kernel_of(hit).outcome, Outcome::hit_disk);
  EXPECT_EQ(hit.code, built.code);
  EXPECT_EQ(kernel_of(caller.kernel(one_kernel(2))).outcome, Outcome::hit_memory);
  EXPECT_EQ(daemon.pool().submitted(), 0u);
}

TEST_F(DaemonTest, HitsNeedNoToolchain) {
  prepared();
  DaemonInProcess daemon(config, 1000, {});  // known from the store only
  Caller caller(config.socket_path);
  EXPECT_EQ(kernel_of(caller.kernel(one_kernel(1, 0))).outcome, Outcome::hit_disk);
  EXPECT_EQ(kernel_of(caller.kernel(one_kernel(2, 1))).code, ErrorCode::unavailable);
}

TEST_F(DaemonTest, ACorruptRecordIsAMissAndIsRebuilt) {
  const auto built = prepared();
  {
    RocksStoreOptions options;
    options.root = config.store_root;
    options.allow_any_filesystem = true;
    auto store = *RocksStore::open(options);
    auto ingredients = **store->ingredients(kernel_of(built).key);
    ingredients.at(0).value += "x";  // as if it had been made from something else
    auto artifact = **store->get(kernel_of(built).key, {});
    ASSERT_TRUE(store->put(artifact, ingredients).ok());
  }
  DaemonInProcess daemon(config);
  daemon.pool().automatic = true;
  Caller caller(config.socket_path);
  const auto again = caller.kernel(one_kernel(1));
  EXPECT_EQ(kernel_of(again).outcome, Outcome::built);
  EXPECT_EQ(again.code, built.code);
  EXPECT_EQ(caller.counter("cubind_store_corrupt_records_total"), 1);
}

TEST_F(DaemonTest, ADeadClientDoesNotStopWhatAnotherWaitsFor) {
  DaemonInProcess daemon(config);
  auto doomed = std::make_unique<Caller>(config.socket_path);
  doomed->send(one_kernel(1));
  daemon.wait_for_jobs(1);
  Caller other(config.socket_path);
  other.send(one_kernel(1));
  static_cast<void>(Caller(config.socket_path).counter("cubind_flights"));  // the daemon has read what was sent before
  doomed.reset();
  daemon.pool().succeed_all();
  const auto kernels = Caller::of<KernelReply>(other.all());
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].outcome, Outcome::joined);
}

TEST_F(DaemonTest, ACompileWhoseClientsDiedIsDemotedAndItsResultKept) {
  DaemonInProcess daemon(config);
  {
    Caller doomed(config.socket_path);
    doomed.send(one_kernel(1));
    daemon.wait_for_jobs(1);
  }
  for (int tries = 0; daemon.pool().priority(1) != Priority::prewarm; ++tries) {
    ASSERT_LT(tries, 5000);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  daemon.pool().succeed_all();
  Caller caller(config.socket_path);
  EXPECT_EQ(kernel_of(caller.kernel(one_kernel(1))).code, ErrorCode::ok);
  EXPECT_EQ(daemon.pool().submitted(), 1u);
}

TEST_F(DaemonTest, CancelEndsTheRequestAtOnce) {
  DaemonInProcess daemon(config);
  Caller caller(config.socket_path);
  caller.send(one_kernel(4));
  daemon.wait_for_jobs(1);
  caller.send(CancelRequest{4});
  const auto heard = caller.all();
  ASSERT_EQ(Caller::of<KernelReply>(heard).size(), 1u);
  EXPECT_EQ(Caller::of<KernelReply>(heard)[0].code, ErrorCode::cancelled);
}

TEST_F(DaemonTest, AFullQueueIsResourceExhausted) {
  DaemonInProcess daemon(config, 1);
  Caller first(config.socket_path), second(config.socket_path);
  first.send(one_kernel(1, 0));
  daemon.wait_for_jobs(1);
  EXPECT_EQ(kernel_of(second.kernel(one_kernel(1, 1))).code, ErrorCode::resource_exhausted);
  daemon.pool().succeed_all();
  EXPECT_EQ(Caller::of<KernelReply>(first.all())[0].code, ErrorCode::ok);
}

TEST_F(DaemonTest, ADeadlineIsKeptAndWhoWaitsHearsProgress) {
  DaemonInProcess daemon(config);
  Caller caller(config.socket_path);
  auto request = one_kernel(1);
  request.deadline_ms = 1200;
  caller.send(request);
  const auto heard = caller.all();
  EXPECT_GE(Caller::of<ProgressReply>(heard).size(), 2u);
  EXPECT_EQ(Caller::of<KernelReply>(heard)[0].code, ErrorCode::pending);
  const auto summary = std::get<SummaryReply>(heard.back().reply);
  EXPECT_GE(summary.elapsed_ms, 1200u);
  EXPECT_LT(summary.elapsed_ms, 2200u);
}

TEST_F(DaemonTest, HitOnlyAndPrefetchAnswerAtOnceAndQueue) {
  DaemonInProcess daemon(config);
  Caller caller(config.socket_path);
  for (const auto mode : {RequestMode::hit_only, RequestMode::prefetch}) {
    auto request = one_kernel(1, static_cast<std::size_t>(mode));
    request.mode = mode;
    EXPECT_EQ(kernel_of(caller.kernel(request)).code, ErrorCode::pending);
  }
  EXPECT_EQ(daemon.pool().jobs(), 2u);
  for (const auto id : daemon.pool().ids()) EXPECT_EQ(daemon.pool().priority(id), Priority::prewarm);
}

TEST_F(DaemonTest, ProtocolsWithNothingInCommonAreToldTheRangeAndClosed) {
  DaemonInProcess daemon(config);
  for (const ClientHello& hello : {ClientHello{kProtocolMax + 1, kProtocolMax + 1, "new"}, ClientHello{0, 0, "old"}}) {
    const auto fd = connect_raw();
    const auto bytes = codec::encode(hello);
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    const auto answer = read_to_end(fd);  // ends: the daemon closes
    ASSERT_GT(answer.size(), kFrameHeaderBytes);
    const auto server = codec::decode_server_hello(ByteView(answer).subspan(kFrameHeaderBytes));
    ASSERT_TRUE(server.ok());
    EXPECT_EQ(server->version, 0u);
    EXPECT_EQ(server->max_version, kProtocolMax);
  }
  Caller fine(config.socket_path);
  EXPECT_GE(fine.counter("cubind_requests_total"), 1);
}

TEST_F(DaemonTest, JunkEndsItsOwnConnectionOnly) {
  DaemonInProcess daemon(config);
  Caller caller(config.socket_path);
  const auto fd = connect_raw();
  const Bytes junk(100, std::byte{0xee});
  ASSERT_EQ(::send(fd.get(), junk.data(), junk.size(), 0), 100);
  static_cast<void>(read_to_end(fd));
  EXPECT_EQ(caller.counter("cubind_protocol_errors_total"), 1);
}

TEST_F(DaemonTest, AnIdInFlightIsRefused) {
  DaemonInProcess daemon(config);
  Caller caller(config.socket_path);
  caller.send(one_kernel(7, 0));
  caller.send(one_kernel(7, 1));
  const auto heard = caller.all();
  ASSERT_EQ(Caller::of<ErrorReply>(heard).size(), 1u);
  EXPECT_EQ(Caller::of<ErrorReply>(heard)[0].id, 7u);
  daemon.wait_for_jobs(1);
  daemon.pool().succeed_all();
  EXPECT_EQ(Caller::of<SummaryReply>(caller.all()).size(), 1u);
}

TEST_F(DaemonTest, MoreConnectionsThanAllowedAreClosed) {
  config.max_connections = 2;
  DaemonInProcess daemon(config);
  Caller one(config.socket_path), two(config.socket_path);
  EXPECT_FALSE(Connection::open(config.socket_path, "third", deadline_after(std::chrono::seconds(5))).ok());
  EXPECT_EQ(one.counter("cubind_connections_refused_total"), 1);
}

TEST_F(DaemonTest, StoppingAnswersWhatRunsAndRefusesWhatIsQueued) {
  DaemonInProcess daemon(config);
  daemon.pool().workers = 1;
  Caller running(config.socket_path), queued(config.socket_path), idle(config.socket_path);
  running.send(one_kernel(1, 0));
  daemon.wait_for_jobs(1);
  queued.send(one_kernel(1, 1));
  daemon.wait_for_jobs(2);
  daemon.begin_stop();
  EXPECT_EQ(Caller::of<KernelReply>(queued.all())[0].code, ErrorCode::unavailable);
  EXPECT_THROW(idle.next(), std::runtime_error) << "closed";
  daemon.pool().succeed_all();
  EXPECT_EQ(Caller::of<KernelReply>(running.all())[0].code, ErrorCode::ok);
  daemon.stop();
  EXPECT_FALSE(std::filesystem::exists(config.socket_path));
  DaemonInProcess next(config);
  EXPECT_EQ(kernel_of(Caller(config.socket_path).kernel(one_kernel(1, 0))).outcome, Outcome::hit_disk);
}

TEST_F(DaemonTest, AfterTheGraceRunningCompilesAreCancelledAndTheDaemonEnds) {
  config.shutdown_grace = std::chrono::seconds(1);
  DaemonInProcess daemon(config);
  Caller running(config.socket_path);
  running.send(one_kernel(1));
  daemon.wait_for_jobs(1);
  daemon.begin_stop();
  EXPECT_EQ(Caller::of<KernelReply>(running.all())[0].code, ErrorCode::unavailable);
  daemon.stop();
}

TEST_F(DaemonTest, ALayerComesInOrderAndEveryKernelOnce) {
  DaemonInProcess daemon(config);
  daemon.pool().automatic = true;
  Caller caller(config.socket_path);
  auto request = kernels_request(1);
  request.layers = {{{}, 4096, 4096, 8192}, {{}, 28672, 4096, 8192}};
  caller.send(request);
  const auto heard = caller.all();
  EXPECT_EQ(Caller::of<TableReply>(heard).size(), 2u);
  const auto summary = std::get<SummaryReply>(heard.back().reply);
  EXPECT_EQ(Caller::of<KernelReply>(heard).size(), summary.total);
  EXPECT_EQ(summary.built, summary.total);
  for (const auto& incoming : heard) {
    if (std::holds_alternative<KernelReply>(incoming.reply)) {
      EXPECT_EQ(sha256(incoming.code), kernel_of(incoming).cubin_digest);
    }
  }
}

TEST_F(DaemonTest, TheSocketHasItsRightsBeforeAnybodyCanConnect) {
  config.socket_mode = 0600;
  DaemonInProcess daemon(config);
  struct stat status {};
  ASSERT_EQ(::stat(config.socket_path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// Row M8 of docs/faults.md.
TEST_F(DaemonTest, ASocketFolderThatOthersMayWriteIsRefused) {
  namespace fs = std::filesystem;
  fs::create_directory(folder / "run");
  config.socket_path = folder / "run/cubind.sock";
  fs::permissions(folder / "run", fs::perms::others_write, fs::perm_options::add);
  try {
    DaemonInProcess daemon(config);
    ADD_FAILURE() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("its folder has mode \"0757\""), std::string::npos) << error.what();
  }
  fs::permissions(folder / "run", fs::perms::sticky_bit, fs::perm_options::add);  // as /tmp is
  const DaemonInProcess daemon(config);
}

TEST_F(DaemonTest, ASecondDaemonOnTheSocketIsRefusedAndTheFirstGoesOn) {
  DaemonInProcess daemon(config);
  auto other = config;
  other.store_root = folder / "other";
  const auto refused = App::create(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_GE(Caller(config.socket_path).counter("cubind_uptime_seconds"), 0);
}

TEST_F(DaemonTest, ASocketFileLeftBehindIsReplaced) {
  {
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    config.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(config.socket_path));
  DaemonInProcess daemon(config);
  EXPECT_GE(Caller(config.socket_path).counter("cubind_uptime_seconds"), 0);
}

TEST_F(DaemonTest, AFileInTheSocketsPlaceIsLeftAlone) {
  std::ofstream(config.socket_path) << "mine";
  const auto refused = App::create(config);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(std::filesystem::file_size(config.socket_path), 4u);
}

}  // namespace
}  // namespace cubind::test
