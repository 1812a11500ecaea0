// What the daemon tells systemd (sd_notify) and what it got from it (socket activation). All of it does nothing when
// the daemon was not started by systemd.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cubind::systemd {

void notify_ready(const std::string& status);
void notify_stopping();
void notify_watchdog();

// How often the watchdog wants to hear from us: half of WatchdogSec.
std::optional<std::chrono::milliseconds> watchdog_interval();

struct PassedSockets {
  UniqueFd clients;               // none, or that of cubind.socket
  std::vector<UniqueFd> metrics;  // of cubind-metrics.socket, whose FileDescriptorName is "metrics"; any family
};
// What was passed, each listening. invalid_argument if one is not what it must be, or if two are for clients.
Result<PassedSockets> take_sockets();

}  // namespace cubind::systemd
