#include "client/model/module_patterns.hpp"

#include <regex.h>

#include "client/model/in_quotes.hpp"

namespace cubind {

namespace {

constexpr std::string_view kPrefixes[] = {"language_model.model.", "model.language_model.", "language_model.",
                                          "backbone.", "model."};

std::string_view without_prefix(std::string_view name) {
  for (const auto prefix : kPrefixes) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

// * is any run of characters; greedy with one remembered position, so linear times the number of stars.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool has_components(std::string_view name, std::string_view components) {
  for (std::size_t at = name.find(components); at != std::string_view::npos; at = name.find(components, at + 1)) {
    const std::size_t end = at + components.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

}  // namespace

struct ModulePatterns::Pattern {
  enum class Kind { regex, glob, prefix, components };
  Kind kind = Kind::components;
  std::string text;
  regex_t regex{};
  bool compiled = false;

  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (compiled) regfree(&regex);
  }

  bool matches(std::string_view name, std::string_view wanted) const {
    switch (kind) {
      case Kind::regex: return regexec(&regex, std::string(name).c_str(), 0, nullptr, 0) == 0;
      case Kind::glob: return glob_matches(wanted, name) || glob_matches(std::string(wanted) + ".*", name);
      case Kind::prefix: return name.starts_with(wanted);
      case Kind::components: return has_components(name, wanted);
    }
    return false;
  }
};

Result<ModulePatterns> ModulePatterns::make(const std::vector<std::string>& entries) {
  ModulePatterns out;
  for (const auto& entry : entries) {
    auto pattern = std::make_shared<Pattern>();
    if (entry.empty()) return Error{ErrorCode::invalid_argument, "module list entry \"\" is empty"};
    if (entry.find('\0') != std::string::npos) {
      return Error{ErrorCode::invalid_argument, "module list entry " + in_quotes(entry) + " holds a NUL character"};
    }
    pattern->text = entry;
    if (entry.starts_with("re:")) {
      pattern->kind = Pattern::Kind::regex;
      pattern->text = entry.substr(3);
      const bool counted = pattern->text.find('{') != std::string::npos;
      bool reference = false;
      for (std::size_t i = 0; i + 1 < pattern->text.size(); ++i) {
        if (pattern->text[i] != '\\') continue;
        ++i;
        reference = reference || (pattern->text[i] >= '0' && pattern->text[i] <= '9');
      }
      if (counted || reference || pattern->text.size() > 512) {
        return Error{ErrorCode::invalid_argument,
                     "module list entry " + in_quotes(entry) +
                         " is not a regular expression of at most 512 characters without {} and back references"};
      }
      if (regcomp(&pattern->regex, ("^(" + pattern->text + ")").c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
        return Error{ErrorCode::invalid_argument,
                     "module list entry " + in_quotes(entry) + " is not a regular expression"};
      }
      pattern->compiled = true;
    } else if (entry.find('*') != std::string::npos) {
      pattern->kind = Pattern::Kind::glob;
    } else if (entry.back() == '.') {
      pattern->kind = Pattern::Kind::prefix;
    }
    out.patterns_.push_back(std::move(pattern));
  }
  return out;
}

bool ModulePatterns::matches(std::string_view module) const {
  const std::string_view bare = without_prefix(module);
  for (const auto& pattern : patterns_) {
    if (pattern->matches(module, pattern->text)) return true;
    // A regex is about the name as written; the checkpoint may also have it under a longer prefix.
    if (pattern->kind == Pattern::Kind::regex) continue;
    if (pattern->matches(bare, without_prefix(pattern->text))) return true;
  }
  return false;
}

}  // namespace cubind
