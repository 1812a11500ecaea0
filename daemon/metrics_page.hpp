// What is told over HTTP, without I/O: GET /metrics answers Prometheus text, GET /health the daemon's state with its
// reasons (200 if it is ok, else 503). Belongs to the loop's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/metrics.hpp"
#include "protocol/messages.hpp"

namespace cubind {

inline constexpr std::size_t kMaxHttpHead = 8 << 10;  // a scraper's has some hundred bytes

struct MetricsPage {
  std::function<std::vector<Measured>()> metrics;
  std::function<HealthReply()> health;
};

// The exposition format, version 0.0.4.
std::string prometheus_text(const std::vector<Measured>& measured);

// The whole answer to a request of which `input` has been read so far, nothing while its head is not complete. Every
// answer ends the connection. Safe on hostile bytes: what is no request is answered 400, a head above kMaxHttpHead 431.
std::optional<std::string> http_answer(std::string_view input, const MetricsPage& page);

}  // namespace cubind
