// What ten thousand connections cost that say nothing, half a greeting, or a request byte by byte.
#include <chrono>
#include <cstring>
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.hpp"
#include "bench/load/load_figures.hpp"
#include "client/wire.hpp"

namespace cubind::bench {

namespace {

Result<UniqueFd> connect_raw(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Error{ErrorCode::resource_exhausted, "connection: " + std::string(std::strerror(errno))};
  }
  return fd;
}

Status add_connections(const DaemonUnderTest& daemon, std::size_t count, std::vector<UniqueFd>& all) {
  ClientHello hello;
  hello.client = "bench";
  auto said = wire::encode(hello);
  const auto greeting = said.size();
  said.insert(said.end(), said.begin(), said.begin() + 20);  // and the beginning of something else
  for (std::size_t i = 0; i < count; ++i) {
    CUBIND_TRY(auto fd, connect_raw(daemon.socket()));
    const auto bytes = i % 3 == 0 ? 0 : i % 3 == 1 ? greeting / 2 : said.size();
    if (bytes != 0 && ::send(fd.get(), said.data(), bytes, MSG_NOSIGNAL) < 0) {
      return Error{ErrorCode::internal, "send: " + std::string(std::strerror(errno))};
    }
    all.push_back(std::move(fd));
  }
  // An answer to somebody who came later: the daemon has looked at all of them.
  CUBIND_TRY(const auto client, daemon.connect("bench"));
  CUBIND_TRY([[maybe_unused]] const auto health, client->health());
  return {};
}

}  // namespace

Result<Figures> connection_figures(const Programs& programs) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < kManyConnections + 500) {
    return Error{ErrorCode::resource_exhausted, "only \"" + std::to_string(limit.rlim_max) + "\" descriptors here"};
  }
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "connections"));
  DaemonUnderTest::Options options;
  options.arguments = {"--max-connections", std::to_string(kManyConnections * 6 / 5)};
  CUBIND_CHECK(daemon.start(options));
  std::vector<UniqueFd> all;
  CUBIND_CHECK(add_connections(daemon, kFewConnections, all));
  const auto few = daemon.peak_resident_bytes();
  CUBIND_CHECK(add_connections(daemon, kManyConnections - kFewConnections, all));
  const auto many = daemon.peak_resident_bytes();
  all.clear();
  CUBIND_CHECK(daemon.stop());
  const auto megabytes = [](std::uint64_t bytes) { return fixed(static_cast<double>(bytes) / (1 << 20), 1) + " MB"; };
  return Figures{{"load.connection_memory_ratio", static_cast<double>(many) / static_cast<double>(few),
                  Figure::Bound::at_most, 2,
                  "peak with " + std::to_string(kFewConnections) + ": " + megabytes(few) + ", with " +
                      std::to_string(kManyConnections) + ": " + megabytes(many),
                  few != 0}};
}

}  // namespace cubind::bench
