#include "daemon/metrics_page.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace cubind {

namespace {

std::string answer(std::string_view status, std::string_view type, std::string_view body, bool with_body = true) {
  std::string text = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
                     "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n";
  if (with_body) text += body;
  return text;
}

std::string refused(std::string_view status) {
  return answer(status, "text/plain; charset=utf-8", std::string(status.substr(4)) + "\n");
}

std::string health_text(const HealthReply& health) {
  std::string text(health.state == HealthState::ok         ? "ok\n"
                   : health.state == HealthState::degraded ? "degraded\n"
                                                           : "stopping\n");
  for (const auto& reason : health.reasons) text += reason + "\n";
  return text;
}

}  // namespace

std::string prometheus_text(const std::vector<Measured>& measured) {
  std::vector<prometheus::MetricFamily> families;
  families.reserve(measured.size());
  for (const auto& [name, help, value] : measured) {
    prometheus::ClientMetric metric;
    const bool grows = std::string_view(name).ends_with("_total");
    (grows ? metric.counter.value : metric.gauge.value) = value;
    families.push_back(
        {name, help, grows ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge, {std::move(metric)}});
  }
  return prometheus::TextSerializer().Serialize(families);
}

std::optional<std::string> http_answer(std::string_view input, const MetricsPage& page) {
  const auto head_end = input.find("\r\n\r\n");
  if (head_end == std::string_view::npos && input.size() < kMaxHttpHead) return std::nullopt;
  if (head_end == std::string_view::npos || head_end > kMaxHttpHead) return refused("431 Header Fields Too Large");

  const auto line = input.substr(0, input.find("\r\n"));
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !line.substr(last + 1).starts_with("HTTP/1.")) {
    return refused("400 Bad Request");
  }
  const auto method = line.substr(0, first);
  auto path = line.substr(first + 1, last - first - 1);
  path = path.substr(0, path.find('?'));
  if (method != "GET" && method != "HEAD") return refused("405 Method Not Allowed");
  const bool with_body = method == "GET";
  if (path == "/metrics") {
    return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", prometheus_text(page.metrics()), with_body);
  }
  if (path == "/health") {
    const auto health = page.health();
    return answer(health.state == HealthState::ok ? "200 OK" : "503 Service Unavailable", "text/plain; charset=utf-8",
                  health_text(health), with_body);
  }
  return refused("404 Not Found");
}

}  // namespace cubind
