#include "daemon/systemd_notify.hpp"

#include <cstdlib>
#include <utility>

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

Result<PassedSockets> take_sockets() {
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(/* unset_environment= */ 1, &names);  // sets close-on-exec
  PassedSockets passed;
  std::optional<Error> wrong;
  for (int i = 0; i < count; ++i) {
    UniqueFd fd(SD_LISTEN_FDS_START + i);
    const std::string name = names[i];
    const auto what = "LISTEN_FDS \"" + std::to_string(count) + "\", socket " + std::to_string(i) + " \"" + name + "\"";
    if (name == "metrics") {
      if (sd_is_socket(fd.get(), AF_UNSPEC, SOCK_STREAM, /* listening= */ 1) > 0) {
        passed.metrics.push_back(std::move(fd));
      } else if (!wrong) {
        wrong = Error{ErrorCode::invalid_argument, what + ": is not a listening stream socket"};
      }
    } else if (sd_is_socket_unix(fd.get(), SOCK_STREAM, /* listening= */ 1, nullptr, 0) <= 0) {
      wrong = Error{ErrorCode::invalid_argument, what + ": is not a listening Unix stream socket"};
    } else if (passed.clients) {
      wrong = Error{ErrorCode::invalid_argument, what + ": is a second socket for clients"};
    } else {
      passed.clients = std::move(fd);
    }
  }
  for (int i = 0; i < count; ++i) std::free(names[i]);
  std::free(names);
  if (wrong) return *std::move(wrong);
  return passed;
}

}  // namespace cubind::systemd
