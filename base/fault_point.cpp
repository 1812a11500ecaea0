#include "base/fault_point.hpp"

#ifdef CUBIND_FAULT_POINTS

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace cubind {

namespace {
struct Action {
  enum class Kind { kill, sleep, fail } kind;
  int milliseconds = 0;
  int at = 1;  // passage; 0 is every one
  int passed = 0;
};

std::map<std::string, Action, std::less<>> parse(std::string_view text) {
  std::map<std::string, Action, std::less<>> actions;
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(item.size() < text.size() ? item.size() + 1 : item.size());
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    std::string verb(item.substr(equals + 1));
    Action action{Action::Kind::kill};
    if (const auto at = verb.find('@'); at != std::string::npos) {
      action.at = std::atoi(verb.c_str() + at + 1);
      verb.resize(at);
    }
    if (verb.rfind("sleep:", 0) == 0) {
      action.kind = Action::Kind::sleep;
      action.milliseconds = std::atoi(verb.c_str() + 6);
    } else if (verb == "fail") {
      action.kind = Action::Kind::fail;
    } else if (verb != "kill") {
      continue;
    }
    actions.emplace(item.substr(0, equals), action);
  }
  return actions;
}
}  // namespace

bool fault_point(const char* name) {
  static std::mutex mutex;
  static auto actions = [] {
    const char* text = std::getenv("CUBIND_FAULT");
    return parse(text == nullptr ? "" : text);
  }();
  if (actions.empty()) return false;
  int milliseconds = 0;
  {
    const std::lock_guard lock(mutex);
    const auto found = actions.find(std::string_view(name));
    if (found == actions.end()) return false;
    auto& action = found->second;
    ++action.passed;
    if (action.at != 0 && action.passed != action.at) return false;
    if (action.kind == Action::Kind::kill) ::raise(SIGKILL);
    if (action.kind == Action::Kind::fail) return true;
    milliseconds = action.milliseconds;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return false;
}

}  // namespace cubind

#endif
