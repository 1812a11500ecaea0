#include "daemon/metrics_page.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace cubind {
namespace {

struct MetricsPageTest : testing::Test {
  HealthReply health;
  MetricsPage page{[] { return measure({}, {}); }, [this] { return health; }};

  std::string get(const std::string& path, const std::string& method = "GET") {
    return http_answer(method + " " + path + " HTTP/1.1\r\nHost: x\r\n\r\n", page).value_or("(waits for more)");
  }
  static std::string status(const std::string& answer) { return answer.substr(9, 3); }
  static std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
};

TEST_F(MetricsPageTest, EveryMetricHasHelpTypeAndValue) {
  Metrics metrics;
  metrics.hits_memory = 7;
  MetricSources sources;
  sources.memory_bytes = 1 << 20;
  const auto measured = measure(metrics, sources);
  const auto text = prometheus_text(measured);
  for (const auto& [name, help, value] : measured) {
    EXPECT_NE(std::string(help), "") << name;
    const bool grows = std::string(name).ends_with("_total");
    EXPECT_NE(text.find("# HELP " + std::string(name) + " " + help + "\n# TYPE " + name + " " +
                        (grows ? "counter" : "gauge") + "\n" + name + " "),
              std::string::npos)
        << name;
  }
  EXPECT_NE(text.find("\ncubind_kernels_hit_memory_total 7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncubind_memory_bytes 1048576\n"), std::string::npos) << text;
}

TEST_F(MetricsPageTest, MetricsAreTheExpositionFormatWithItsLength) {
  const auto answer = get("/metrics?name=x");
  EXPECT_EQ(status(answer), "200");
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4"), std::string::npos);
  EXPECT_NE(answer.find("Content-Length: " + std::to_string(body(answer).size()) + "\r\n"), std::string::npos);
  EXPECT_EQ(body(answer), prometheus_text(measure({}, {})));
  EXPECT_EQ(body(get("/metrics", "HEAD")), "");
}

TEST_F(MetricsPageTest, HealthSaysWhyItIsNotOk) {
  EXPECT_EQ(status(get("/health")), "200");
  EXPECT_EQ(body(get("/health")), "ok\n");
  health.state = HealthState::degraded;
  health.reasons = {"store: no space", "compile: no toolchain"};
  EXPECT_EQ(status(get("/health")), "503");
  EXPECT_EQ(body(get("/health")), "degraded\nstore: no space\ncompile: no toolchain\n");
  health.state = HealthState::stopping;
  EXPECT_EQ(status(get("/health")), "503");
}

TEST_F(MetricsPageTest, WhatIsNotAskedRightIsRefused) {
  EXPECT_EQ(status(get("/")), "404");
  EXPECT_EQ(status(get("/metrics", "POST")), "405");
  for (const char* nonsense : {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics SPDY/3\r\n\r\n"}) {
    EXPECT_EQ(status(http_answer(nonsense, page).value()), "400") << nonsense;
  }
}

TEST_F(MetricsPageTest, AHeadIsAwaitedUpToItsLimit) {
  const std::string start = "GET /metrics HTTP/1.1\r\nHost: x\r\n";
  for (std::size_t i = 0; i <= start.size(); ++i) EXPECT_FALSE(http_answer(start.substr(0, i), page)) << i;
  EXPECT_EQ(status(http_answer(start + "\r\n", page).value()), "200");
  EXPECT_FALSE(http_answer(std::string(kMaxHttpHead - 1, 'x'), page));
  EXPECT_EQ(status(http_answer(std::string(kMaxHttpHead, 'x'), page).value()), "431");
}

}  // namespace
}  // namespace cubind
