// The one table of what can be set: key in the file, flag, kind, rule, and how it is shown again.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/config.hpp"

namespace cubind {

using Rule = std::optional<std::string>;  // the rule that a value breaks; nothing: all is well
using Texts = std::span<const std::string>;

enum class Kind { number, text, boolean, list };  // what TOML takes for it

struct Setting {
  const char* key;  // "section.name", or "name" outside of any section
  const char* flag;
  Kind kind;
  const char* help;
  std::function<Rule(Config&, Texts)> set;  // one text, but for lists
  std::function<std::vector<std::string>(const Config&)> get;
  bool live = false;  // a reload applies it; the others need a restart
};

const std::vector<Setting>& settings();

}  // namespace cubind
