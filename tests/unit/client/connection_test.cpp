#include "client/connection.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "protocol/limits.hpp"
#include "tests/support/scripted_daemon.hpp"

namespace cubind {
namespace {

using std::chrono::milliseconds;
using test::ScriptedDaemon;
using test::Session;
using test::TemporarySocket;

Deadline soon() {
  return deadline_after(milliseconds(5'000));
}
// For waits that are expected to fail.
Deadline at_once() {
  return deadline_after(milliseconds(20));
}

TEST(Connection, AbsentDaemonIsUnavailableAndNamesTheSocket) {
  const TemporarySocket socket;
  const auto connection = Connection::open(socket.path(), "test", soon());
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.error().code, ErrorCode::unavailable);
  EXPECT_NE(connection.error().message.find(socket.path()), std::string::npos) << connection.error().message;
}

TEST(Connection, SocketPathThatDoesNotFitIsRefused) {
  const auto connection = Connection::open(std::string(200, 'x'), "test", soon());
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.error().code, ErrorCode::invalid_argument);
}

TEST(Connection, EnvironmentNamesTheSocket) {
  ::setenv("CUBIND_SOCKET", "/tmp/other.sock", 1);
  EXPECT_EQ(default_socket_path(), "/tmp/other.sock");
  ::setenv("CUBIND_SOCKET", "", 1);
  EXPECT_EQ(default_socket_path(), "/run/cubind/cubind.sock");
  ::unsetenv("CUBIND_SOCKET");
  EXPECT_EQ(default_socket_path(), "/run/cubind/cubind.sock");
}

TEST(Connection, DaemonWithoutACommonVersionIsNotSupportedAndBothRangesAreNamed) {
  const TemporarySocket socket;
  ScriptedDaemon daemon(socket.path());
  daemon.hello.version = 0;
  daemon.hello.min_version = 7;
  daemon.hello.max_version = 9;
  daemon.start([](Session&, const Request&) { return true; });
  const auto connection = Connection::open(socket.path(), "test", soon());
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.error().code, ErrorCode::not_supported);
  EXPECT_NE(connection.error().message.find("7"), std::string::npos) << connection.error().message;
}

TEST(Connection, CodeFollowsItsReply) {
  const TemporarySocket socket;
  ScriptedDaemon daemon(socket.path());
  Bytes code(300'000);
  for (std::size_t i = 0; i < code.size(); ++i) code[i] = static_cast<std::byte>(i * 7);
  daemon.start([&](Session& session, const Request&) {
    KernelReply first = test::made_up_kernel(1, 0);
    first.code_bytes = static_cast<std::uint32_t>(code.size());
    const Bytes small = test::made_up_code(1);
    return session.reply(first, code) && session.reply(test::made_up_kernel(1, 1), small) &&
           session.reply(SummaryReply{});
  });
  auto connection = Connection::open(socket.path(), "test", soon());
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE(connection->send(KernelsRequest{}, soon()).ok());
  auto incoming = connection->next(soon());
  ASSERT_TRUE(incoming.ok());
  EXPECT_EQ(incoming->code, code);
  incoming = connection->next(soon());
  ASSERT_TRUE(incoming.ok());
  EXPECT_EQ(incoming->code, test::made_up_code(1));
  EXPECT_EQ(std::get<KernelReply>(incoming->reply).info.name, "made-up-1");
  incoming = connection->next(soon());
  ASSERT_TRUE(incoming.ok());
  EXPECT_TRUE(std::holds_alternative<SummaryReply>(incoming->reply));
}

TEST(Connection, DeadlineBetweenMessagesIsPendingAndLosesNothing) {
  const TemporarySocket socket;
  ScriptedDaemon daemon(socket.path());
  daemon.start([](Session& session, const Request& request) {
    // Silent for the first request, answers the second.
    const auto* stats = std::get_if<StatsRequest>(&request);
    return stats->id == 1 || session.reply(StatsReply{stats->id, {}});
  });
  auto connection = Connection::open(socket.path(), "test", soon());
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE(connection->send(StatsRequest{1}, soon()).ok());
  const auto nothing = connection->next(at_once());
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, ErrorCode::pending);
  EXPECT_TRUE(connection->usable());
  ASSERT_TRUE(connection->send(StatsRequest{2}, soon()).ok());
  EXPECT_TRUE(connection->next(soon()).ok());
}

TEST(Connection, ClosedInTheMiddleOfAMessageIsUnavailableAndUnusable) {
  const TemporarySocket socket;
  ScriptedDaemon daemon(socket.path());
  daemon.start([](Session& session, const Request&) {
    session.raw(to_bytes(std::string_view("\x40\0\0\0half", 8)));
    return false;
  });
  auto connection = Connection::open(socket.path(), "test", soon());
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE(connection->send(StatsRequest{1}, soon()).ok());
  const auto half = connection->next(soon());
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().code, ErrorCode::unavailable);
  EXPECT_FALSE(connection->usable());
}

TEST(Connection, NonsenseIsCorruption) {
  for (const std::string_view bytes : {std::string_view("\xff\xff\xff\x7f........", 12),           // far too long
                                       std::string_view("\0\0\0\0........", 12),                   // empty
                                       std::string_view("\x08\0\0\0\xff\xff\xff\xff....", 12)}) {  // no message
    const TemporarySocket socket;
    ScriptedDaemon daemon(socket.path());
    daemon.start([&](Session& session, const Request&) { return session.raw(to_bytes(bytes)); });
    auto connection = Connection::open(socket.path(), "test", soon());
    ASSERT_TRUE(connection.ok());
    ASSERT_TRUE(connection->send(StatsRequest{1}, soon()).ok());
    const auto nonsense = connection->next(soon());
    ASSERT_FALSE(nonsense.ok());
    EXPECT_EQ(nonsense.error().code, ErrorCode::corruption) << nonsense.error().message;
    EXPECT_FALSE(connection->usable());
  }
}

}  // namespace
}  // namespace cubind
