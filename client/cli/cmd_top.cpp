// top: the daemon at work, again and again on a terminal, once elsewhere.
#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "client/cli/top_view.hpp"

namespace cubind::cli {

namespace {

using SteadyClock = std::chrono::steady_clock;

struct Look {
  HealthReply health;
  CounterMap counters;
  SteadyClock::time_point at;
};

Result<Look> look(Client& client, const CommonOptions& common) {
  constexpr std::chrono::seconds kQuick{10};
  Look seen;
  CUBIND_TRY(seen.health, client.health(deadline_of(common, kQuick)));
  CUBIND_TRY(const StatsReply stats, client.stats(deadline_of(common, kQuick)));
  seen.at = SteadyClock::now();
  seen.counters = counter_map(stats.counters);
  return seen;
}

}  // namespace

Status run(const CommonOptions& common, const TopOptions& options) {
  const bool terminal = isatty(STDOUT_FILENO) == 1 && !common.json;
  const auto views = options.count != 0 ? options.count : terminal ? 0 : 1;
  CUBIND_TRY(const auto client, open_client(common));
  Look before;
  for (std::uint32_t shown = 0; views == 0 || shown < views; ++shown) {
    if (shown != 0) std::this_thread::sleep_for(std::chrono::seconds(options.interval_s));
    auto now = look(*client, common);
    // Somebody who watches a restart wants to see the daemon come back.
    const bool away = !now.ok() && views == 0 && shown != 0 && now.error().code == ErrorCode::unavailable;
    if (!now.ok() && !away) return now.error();
    if (common.json) {
      CUBIND_CHECK(print_json({{"state", to_string(now->health.state)}, {"counters", now->counters}}));
    } else {
      const auto text = away ? printable(now.error().message) + "\n"
                             : top_view(now->health, before.counters, now->counters,
                                        std::chrono::duration<double>(now->at - before.at).count());
      CUBIND_CHECK(print_text(terminal ? over_the_last_one(text) : (shown != 0 ? "\n" : "") + text));
    }
    before = away ? Look() : *std::move(now);
  }
  return {};
}

}  // namespace cubind::cli
