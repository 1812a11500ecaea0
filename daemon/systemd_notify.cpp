#include "daemon/systemd_notify.hpp"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>

namespace cubind::systemd {

void notify_ready(const std::string& status) {
  sd_notify(0, ("READY=1\nSTATUS=" + status).c_str());
}

void notify_stopping() {
  sd_notify(0, "STOPPING=1\nSTATUS=finishing running compiles");
}

void notify_watchdog() {
  sd_notify(0, "WATCHDOG=1");
}

std::optional<std::chrono::milliseconds> watchdog_interval() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::milliseconds(microseconds / 2000);
}

Result<std::optional<UniqueFd>> take_socket() {
  const int count = sd_listen_fds(/* unset_environment= */ 1);  // sets close-on-exec
  if (count <= 0) return std::optional<UniqueFd>();
  if (count > 1) {
    return Error{ErrorCode::invalid_argument, "LISTEN_FDS \"" + std::to_string(count) + "\" is more than one socket"};
  }
  UniqueFd fd(SD_LISTEN_FDS_START);
  if (sd_is_socket_unix(fd.get(), SOCK_STREAM, /* listening= */ 1, nullptr, 0) <= 0) {
    return Error{ErrorCode::invalid_argument, "LISTEN_FDS \"1\": is not a listening Unix stream socket"};
  }
  return std::optional(std::move(fd));
}

}  // namespace cubind::systemd
