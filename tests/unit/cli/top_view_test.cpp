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
  EXPECT_THAT(view, HasSubstr("cubind 0.1.0, up 1 min, ok\n"));
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

TEST(TopView, UptimeIsInWhatPeopleCountIn) {
  const auto first_line = [](std::uint64_t ms) {
    auto reply = health();
    reply.uptime_ms = ms;
    const auto view = top_view(reply, {}, {}, 1);
    return view.substr(0, view.find('\n'));
  };
  EXPECT_EQ(first_line(59'999), "cubind 0.1.0, up 59 s, ok");
  EXPECT_EQ(first_line(3'599'000), "cubind 0.1.0, up 59 min, ok");
  EXPECT_EQ(first_line(3 * 3'600'000 + 120'000), "cubind 0.1.0, up 3 h 2 min, ok");
  EXPECT_EQ(first_line(26ull * 3'600'000), "cubind 0.1.0, up 1 d 2 h, ok");
}

TEST(TopView, AViewThatIsDrawnOverALongerOneLeavesNothingOfIt) {
  EXPECT_EQ(over_the_last_one("a\nb\n"), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
}

}  // namespace
}  // namespace cubind::cli
