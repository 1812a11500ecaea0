#include "daemon/config.hpp"

#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <toml++/toml.h>

#include "cache/record.hpp"
#include "codegen/cache_key.hpp"
#include "cubind_version.hpp"
#include "daemon/config_settings.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/messages.hpp"

namespace cubind {

namespace {

using T = std::vector<std::string>;

std::string joined(Texts texts) {
  std::string line;
  for (const auto& text : texts) line += (line.empty() ? "" : ", ") + text;
  return line;
}

// An error is one line, whatever the value or the name that it quotes.
Error one_line(Error error) {
  for (auto& c : error.message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return error;
}

// As a TOML basic string.
std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      text += escaped;
    } else {
      text += c;
    }
  }
  return text + "\"";
}

// ---- the file

const char* noun(Kind kind) {
  switch (kind) {
    case Kind::number: return "a number";
    case Kind::text: return "a string";
    case Kind::boolean: return "true or false";
    case Kind::list: return "a list of strings";
  }
  return "";
}

// The value as texts, or nothing if it is not of the kind.
std::optional<T> texts_of(const toml::node& node, Kind kind) {
  switch (kind) {
    case Kind::number:
      if (const auto value = node.value_exact<std::int64_t>()) return T{std::to_string(*value)};
      return {};
    case Kind::text:
      if (const auto value = node.value_exact<std::string>()) return T{*value};
      return {};
    case Kind::boolean:
      if (const auto value = node.value_exact<bool>()) return T{*value ? "true" : "false"};
      return {};
    case Kind::list: break;
  }
  const auto* array = node.as_array();
  if (array == nullptr) return {};
  T texts;
  for (const auto& item : *array) {
    const auto value = item.value_exact<std::string>();
    if (!value) return {};
    texts.push_back(*value);
  }
  return texts;
}

std::string shown(const toml::node& node) {
  std::ostringstream out;
  node.visit([&out](const auto& value) { out << value; });
  auto text = out.str();
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"')) text = text.substr(1, text.size() - 2);
  for (auto& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

Status apply_table(Config& config, const std::string& file, const toml::table& table, const std::string& prefix) {
  for (const auto& [name, node] : table) {
    const auto key = prefix + std::string(name.str());
    const auto where = file + ":" + std::to_string(name.source().begin.line) + ": ";
    const Setting* setting = nullptr;
    bool is_section = false;
    for (const auto& candidate : settings()) {
      if (key == candidate.key) setting = &candidate;
      is_section = is_section || std::string_view(candidate.key).starts_with(key + ".");
    }
    if (is_section && node.is_table()) {
      CUBIND_CHECK(apply_table(config, file, *node.as_table(), key + "."));
      continue;
    }
    if (setting == nullptr && node.is_table()) {
      return Error{ErrorCode::invalid_argument, where + key + ": there is no such section"};
    }
    if (setting == nullptr) {
      return Error{ErrorCode::invalid_argument,
                   where + key + " \"" + shown(node) +
                       "\": " + (is_section ? "is a section, not a value" : "there is no such setting")};
    }
    const auto texts = texts_of(node, setting->kind);
    if (!texts) {
      return Error{ErrorCode::invalid_argument, where + key + " \"" + shown(node) + "\" is not " + noun(setting->kind)};
    }
    if (const auto broken = setting->set(config, *texts)) {
      return Error{ErrorCode::invalid_argument, where + key + " \"" + joined(*texts) + "\" " + *broken};
    }
  }
  return {};
}

Status apply_file(Config& config, const std::string& file) {
  try {
    const auto table = toml::parse_file(file);
    auto applied = apply_table(config, file, table, "");
    if (!applied.ok()) return one_line(std::move(applied).error());
    return {};
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    return one_line({ErrorCode::invalid_argument,
                     file + (line != 0 ? ":" + std::to_string(line) : "") + ": " + std::string(error.description())});
  }
}

}  // namespace

Result<Config> load_config(const std::string& file) {
  Config config;
  CUBIND_CHECK(apply_file(config, file));
  return config;
}

std::string to_toml(const Config& config) {
  std::string text, section;
  for (const bool in_section : {false, true}) {  // TOML wants what has no section first
    for (const auto& setting : settings()) {
      const std::string_view key = setting.key;
      const auto dot = key.find('.');
      if ((dot != std::string_view::npos) != in_section) continue;
      if (in_section && section != key.substr(0, dot)) {
        section = key.substr(0, dot);
        text += "\n[" + section + "]\n";
      }
      text += std::string(in_section ? key.substr(dot + 1) : key) + " = ";
      const auto texts = setting.get(config);
      if (setting.kind == Kind::list) {
        T all;
        for (const auto& one : texts) all.push_back(quoted(one));
        text += "[" + joined(all) + "]\n";
      } else {
        text += (setting.kind == Kind::text ? quoted(texts[0]) : texts[0]) + "\n";
      }
    }
  }
  return text;
}

std::string version_text() {
  return std::string("cubind ") + CUBIND_VERSION + "\ncommit " + CUBIND_COMMIT + "\nprotocol " +
         std::to_string(kProtocolMin) + ".." + std::to_string(kProtocolMax) + "\nkey_schema " +
         std::to_string(kKeySchema) + "\nrecord_schema " + std::to_string(kRecordSchema) + "\nlaunch_abi " +
         std::to_string(kLaunchAbi) + "\nweight_layout " + std::to_string(kWeightLayout) + "\n";
}

namespace {

Result<CommandLine> parse(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App cli("cubind: turns kernel requests into cubins exactly once and keeps them for every process of the node.");
  bool check = false, print = false, version = false;
  cli.add_option("--config", line.file, "config file (flags win over it)");
  cli.add_flag("--check-config", check, "check the config file and the flags, print nothing if they are right");
  cli.add_flag("--print-config", print, "print the config that file and flags give");
  cli.add_flag("--version", version, "print version, commit, protocol range and schemas");
  std::vector<T> given(settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const auto& setting = settings()[i];
    const auto help = std::string(setting.help) + " (" + setting.key + ")";
    auto* option = cli.add_option(setting.flag, given[i], help);
    if (setting.kind == Kind::boolean) {
      option->expected(0, 1)->default_str("true");
    } else {
      option->expected(1)->take_all();
    }
    option->type_name(setting.kind == Kind::number ? "N" : setting.kind == Kind::boolean ? "[BOOL]" : "TEXT");
  }
  try {
    cli.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.action = CommandLine::Action::print_and_exit;
    line.text = cli.help();
    return line;
  } catch (const CLI::ParseError& error) {
    return Error{ErrorCode::invalid_argument, error.what()};
  }
  if (version) {
    line.action = CommandLine::Action::print_and_exit;
    line.text = version_text();
    return line;
  }
  if (!line.file.empty()) CUBIND_CHECK(apply_file(line.config, line.file));
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const auto& setting = settings()[i];
    if (cli.get_option(setting.flag)->count() == 0) continue;
    if (given[i].empty()) given[i].emplace_back("true");  // a bare boolean flag
    if (setting.kind != Kind::list && given[i].size() > 1) {
      return Error{ErrorCode::invalid_argument,
                   std::string(setting.flag) + " \"" + joined(given[i]) + "\" is given more than once"};
    }
    if (const auto broken = setting.set(line.config, given[i])) {
      return Error{ErrorCode::invalid_argument, std::string(setting.flag) + " \"" + joined(given[i]) + "\" " + *broken};
    }
  }
  if (check) line.action = CommandLine::Action::check;
  if (print) line.action = CommandLine::Action::print_config;
  return line;
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  auto parsed = parse(argc, argv);
  if (!parsed.ok()) return one_line(std::move(parsed).error());
  return parsed;
}

}  // namespace cubind
