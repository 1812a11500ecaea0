#include "client/cli/top_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubind::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

HealthReply health() {
  HealthReply reply;
  reply.daemon = "cubind 0.1.0";
  reply.uptime_ms = 60'000;
  return reply;
}

TEST(TopView, TheFirstViewHasTotalsAndNoRates) {
  const auto view =
      top_view(health(), {}, {{"cubind_kernels_hit_memory_total", 500}, {"cubind_uptime_seconds", 60}}, 2);
  EXPECT_THAT(view, ContainsRegex("hits, memory +- +500\n"));
  EXPECT_THAT(view, HasSubstr("cubind 0.1.0, up 60.00 s, ok\n"));
}

TEST(TopView, RatesAreDifferencesASecond) {
  const CounterMap before{{"cubind_kernels_hit_memory_total", 500}, {"cubind_uptime_seconds", 60}};
  const CounterMap now{{"cubind_kernels_hit_memory_total", 560},
                       {"cubind_uptime_seconds", 64},
                       {"cubind_compiles_running", 2},
                       {"cubind_compile_workers", 8}};
  const auto view = top_view(health(), before, now, 4);
  EXPECT_THAT(view, ContainsRegex("hits, memory +15.0 +560\n"));
  EXPECT_THAT(view, ContainsRegex("compiling +2 of 8\n"));
}

TEST(TopView, ADaemonThatWasRestartedHasNoRates) {
  const CounterMap before{{"cubind_requests_total", 500}, {"cubind_uptime_seconds", 60}};
  const CounterMap now{{"cubind_requests_total", 3}, {"cubind_uptime_seconds", 1}};
  EXPECT_THAT(top_view(health(), before, now, 4), ContainsRegex("requests +- +3\n"));
}

TEST(TopView, SaysWhyTheDaemonIsNotWell) {
  auto sick = health();
  sick.state = HealthState::degraded;
  sick.reasons = {"store: no space"};
  EXPECT_THAT(top_view(sick, {}, {}, 1), HasSubstr("degraded\n  store: no space\n"));
}

}  // namespace
}  // namespace cubind::cli
