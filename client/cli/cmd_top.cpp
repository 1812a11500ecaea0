// top: the daemon at work, again and again on a terminal, once elsewhere.
#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "client/cli/top_view.hpp"

namespace cubind::cli {

Status run(const CommonOptions& common, const TopOptions& options) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kQuick{10};
  const bool terminal = isatty(STDOUT_FILENO) == 1 && !common.json;
  const auto views = options.count != 0 ? options.count : terminal ? 0 : 1;
  CUBIND_TRY(const auto client, open_client(common));
  CounterMap before;
  Clock::time_point last;
  for (std::uint32_t shown = 0; views == 0 || shown < views; ++shown) {
    if (shown != 0) std::this_thread::sleep_for(std::chrono::seconds(options.interval_s));
    CUBIND_TRY(const HealthReply health, client->health(deadline_of(common, kQuick)));
    CUBIND_TRY(const StatsReply stats, client->stats(deadline_of(common, kQuick)));
    const auto now = Clock::now();
    auto counters = counter_map(stats.counters);
    if (common.json) {
      CUBIND_CHECK(print_json({{"state", to_string(health.state)}, {"counters", counters}}));
    } else {
      const auto seconds = std::chrono::duration<double>(now - last).count();
      const auto view = top_view(health, before, counters, seconds);
      // Home, the view, and away with what an earlier one left below and at the ends of lines.
      CUBIND_CHECK(print_text(terminal ? "\x1b[H\x1b[2J" + view : (shown != 0 ? "\n" : "") + view));
    }
    before = std::move(counters);
    last = now;
  }
  return {};
}

}  // namespace cubind::cli
