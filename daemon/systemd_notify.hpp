// What the daemon tells systemd (sd_notify) and what it got from it (socket activation). All of it does nothing when
// the daemon was not started by systemd.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cubind::systemd {

void notify_ready(const std::string& status);
void notify_stopping();
void notify_watchdog();

// How often the watchdog wants to hear from us: half of WatchdogSec.
std::optional<std::chrono::milliseconds> watchdog_interval();

// The socket of cubind.socket, or nothing. invalid_argument if what was passed is not one listening Unix stream socket.
Result<std::optional<UniqueFd>> take_socket();

}  // namespace cubind::systemd
