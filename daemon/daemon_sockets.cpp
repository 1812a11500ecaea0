#include "daemon/daemon_sockets.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <sys/resource.h>

#include "base/log.hpp"
#include "daemon/systemd_notify.hpp"

namespace cubind {

Result<DaemonSockets> take_sockets(const Config& config) {
  CUBIND_TRY(auto passed, systemd::take_sockets());
  MetricsHttpOptions metrics;
  metrics.passed = std::move(passed.metrics);
  metrics.listen = config.metrics_listen;
  // Under socket activation the sockets are systemd's affair, as the folder is: then only one that is named is made.
  const bool beside = config.metrics_socket.empty() && !passed.clients;
  const auto path = beside ? (std::filesystem::path(config.socket_path).parent_path() / "metrics.sock").string()
                           : config.metrics_socket;
  if (!path.empty() && path != "off") {
    metrics.socket = ListeningSocket::Wanted{path, config.socket_mode, config.socket_gid};
  }
  if (passed.clients) return DaemonSockets{ListeningSocket::adopt(std::move(passed.clients)), std::move(metrics)};
  CUBIND_TRY(auto made, ListeningSocket::make({config.socket_path, config.socket_mode, config.socket_gid}));
  return DaemonSockets{std::move(made), std::move(metrics)};
}

void make_room_for_descriptors(std::size_t connections) {
  constexpr rlim_t kOurs = 256;  // the database's files, pipes of workers, sockets
  const rlim_t needed = connections + kOurs;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == needed) return;
  log(LogLevel::warn, "descriptor_limit",
      {{"descriptors", limit.rlim_cur}, {"needed", needed}, {"then", "fewer connections than configured are taken"}});
}

}  // namespace cubind
