// What `top` shows, from two looks at the counters. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "protocol/messages.hpp"

namespace cubind::cli {

using CounterMap = std::map<std::string, double>;
CounterMap counter_map(const std::vector<Counter>& counters);

// `before` may be empty (the first view): then there are no rates. A daemon that was restarted in between has none
// either. A counter that the daemon does not have is shown as 0.
std::string top_view(const HealthReply& health, const CounterMap& before, const CounterMap& now, double seconds);

// Escapes that draw `text` over what is on the screen without clearing it first, which would flicker.
std::string over_the_last_one(const std::string& text);

}  // namespace cubind::cli
