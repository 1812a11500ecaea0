#include "daemon/config_settings.hpp"

#include <charconv>
#include <cstdio>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <grp.h>
#include <pwd.h>

namespace cubind {

namespace {

using T = std::vector<std::string>;

// ---- values: from text to a field; the error is the rule that the text breaks

std::string octal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%llo", static_cast<unsigned long long>(value));
  return text;
}

template <class Int>
Rule set_number(Int& field, std::string_view text, std::uint64_t least, std::uint64_t most, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return "is not " + std::string(base == 8 ? "an octal number" : "a whole number") + " from " +
           std::to_string(least) + " to " + (base == 8 ? octal(most) : std::to_string(most));
  }
  field = static_cast<Int>(value);
  return {};
}

// "512MiB" and such: a number and an optional unit.
template <class Int>
Rule set_with_unit(Int& field, std::string_view text, const std::map<std::string_view, std::uint64_t>& units,
                   std::uint64_t least, std::uint64_t most, const char* rule) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return rule;
  const auto unit = units.find(text.substr(static_cast<std::size_t>(end - text.data())));
  if (unit == units.end() || value > most / unit->second) return rule;
  value *= unit->second;
  if (value < least) return rule;
  field = static_cast<Int>(value);
  return {};
}

Rule set_size(auto& field, std::string_view text, std::uint64_t least) {
  static const std::map<std::string_view, std::uint64_t> units = {
      {"", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};
  const auto rule = least <= (1 << 20) ? "is not a size of 1MiB to 1024TiB, such as 512MiB or 8GiB"
                                       : "is not a size of 512MiB to 1024TiB, such as 4GiB";
  return set_with_unit(field, text, units, least, 1ull << 50, rule);
}

Rule set_seconds(std::chrono::seconds& field, std::string_view text) {
  static const std::map<std::string_view, std::uint64_t> units = {{"s", 1}, {"min", 60}, {"h", 3600}};
  std::uint64_t value = 0;
  auto broken = set_with_unit(value, text, units, 1, 24 * 3600, "is not a time of 1s to 24h, such as 20s or 2min");
  if (!broken) field = std::chrono::seconds(value);
  return broken;
}

Rule set_bool(bool& field, std::string_view text) {
  if (text != "true" && text != "false") return "is not true or false";
  field = text == "true";
  return {};
}

Rule set_path(std::string& field, std::string_view text) {
  if (text.empty() || text.front() != '/') return "is not an absolute path";
  for (const char c : text) {  // a zero byte would end the path for the system, and a newline a line of the log
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "holds a control character";
  }
  field = text;
  return {};
}

Rule set_socket_path(std::string& field, std::string_view text) {
  if (auto broken = set_path(field, text)) return broken;
  if (text.size() > 107) return "is longer than the 107 bytes that a Unix socket's path can have";
  return {};
}

Rule set_metrics_socket(std::string& field, const std::string& text) {
  if (!text.empty() && text != "off") return set_socket_path(field, text);
  field = text;
  return {};
}

Rule set_listen(std::optional<TcpAddress>& field, std::string_view text) {
  field = parse_tcp_address(text);
  if (!field && !text.empty()) return "is not a numeric address and a port, such as 127.0.0.1:9155 or [::1]:9155";
  return {};
}

Rule set_paths(std::vector<std::string>& field, Texts texts) {
  field.clear();
  for (const auto& text : texts) {
    if (auto broken = set_path(field.emplace_back(), text)) return broken;
  }
  return {};
}

Rule set_gid(std::uint32_t& field, const std::string& text) {
  if (!set_number(field, text, 0, std::numeric_limits<std::uint32_t>::max() - 1)) return {};
  const group* found = ::getgrnam(text.c_str());
  if (found == nullptr) return "is neither a group of this system nor a number";
  field = found->gr_gid;
  return {};
}

Rule set_gid(std::optional<std::uint32_t>& field, const std::string& text) {
  field.reset();
  if (text.empty()) return {};
  return set_gid(field.emplace(), text);
}

Rule set_gids(std::vector<std::uint32_t>& field, Texts texts) {
  field.clear();
  for (const auto& text : texts) {
    if (auto broken = set_gid(field.emplace_back(), text)) return broken;
  }
  return {};
}

Rule set_uids(std::vector<std::uint32_t>& field, Texts texts) {
  field.clear();
  for (const auto& text : texts) {
    std::uint32_t value = 0;
    if (set_number(value, text, 0, std::numeric_limits<std::uint32_t>::max() - 1)) {
      const passwd* found = ::getpwnam(text.c_str());
      if (found == nullptr) return "is neither a user of this system nor a number";
      value = found->pw_uid;
    }
    field.push_back(value);
  }
  return {};
}

constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"debug", LogLevel::debug},
                                                             {"info", LogLevel::info},
                                                             {"warn", LogLevel::warn},
                                                             {"error", LogLevel::error},
                                                             {"off", LogLevel::off}};
constexpr std::pair<std::string_view, LogFormat> kFormats[] = {{"text", LogFormat::text}, {"json", LogFormat::json}};

template <class Enum>
Rule set_word(Enum& field, std::string_view text, std::span<const std::pair<std::string_view, Enum>> words) {
  std::string rule = "is not one of";
  for (const auto& [word, value] : words) {
    if (text == word) {
      field = value;
      return {};
    }
    rule += " " + std::string(word);
  }
  return rule;
}

template <class Enum>
std::string word_of(Enum value, std::span<const std::pair<std::string_view, Enum>> words) {
  for (const auto& [word, listed] : words) {
    if (listed == value) return std::string(word);
  }
  return {};
}

// ---- the table: every setting once

constexpr std::uint64_t kMiB = 1 << 20;
constexpr bool kLive = true;

std::vector<std::string> texts_of(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> table = {
      {"socket.path", "--socket", Kind::text, "Unix socket to listen on",
       [](Config& c, Texts t) { return set_socket_path(c.socket_path, t[0]); },
       [](const Config& c) { return T{c.socket_path}; }},
      {"socket.mode", "--socket-mode", Kind::text, "its mode, octal",
       [](Config& c, Texts t) { return set_number(c.socket_mode, t[0], 0, 0777, 8); },
       [](const Config& c) { return T{"0" + octal(c.socket_mode)}; }},
      {"socket.group", "--socket-group", Kind::text, "its group, by name or number; empty: the daemon's own",
       [](Config& c, Texts t) { return set_gid(c.socket_gid, t[0]); },
       [](const Config& c) { return T{c.socket_gid ? std::to_string(*c.socket_gid) : ""}; }},
      {"socket.allow_users", "--allow-user", Kind::list,
       "who may ask; with allow_groups empty too: all who can connect",
       [](Config& c, Texts t) { return set_uids(c.clients.uids, t); },
       [](const Config& c) { return texts_of(c.clients.uids); }, kLive},
      {"socket.allow_groups", "--allow-group", Kind::list, "likewise, by group",
       [](Config& c, Texts t) { return set_gids(c.clients.gids, t); },
       [](const Config& c) { return texts_of(c.clients.gids); }, kLive},
      {"socket.max_connections", "--max-connections", Kind::number, "at once; more are closed at once",
       [](Config& c, Texts t) { return set_number(c.max_connections, t[0], 1, 65536); },
       [](const Config& c) { return T{std::to_string(c.max_connections)}; }, kLive},
      {"store.root", "--store", Kind::text, "folder of the store, on a local disk",
       [](Config& c, Texts t) { return set_path(c.store_root, t[0]); },
       [](const Config& c) { return T{c.store_root}; }},
      {"store.memory_limit", "--memory-limit", Kind::text, "cubins kept in memory",
       [](Config& c, Texts t) { return set_size(c.memory_limit, t[0], kMiB); },
       [](const Config& c) { return T{std::to_string(c.memory_limit)}; }, kLive},
      {"store.disk_limit", "--disk-limit", Kind::text, "cubins kept on disk",
       [](Config& c, Texts t) { return set_size(c.disk_limit, t[0], kMiB); },
       [](const Config& c) { return T{std::to_string(c.disk_limit)}; }, kLive},
      {"store.old_store_days", "--old-store-days", Kind::number, "other schemas' folders go after that; 0: never",
       [](Config& c, Texts t) { return set_number(c.old_store_days, t[0], 0, 36500); },
       [](const Config& c) { return T{std::to_string(c.old_store_days)}; }},
      {"store.allow_any_filesystem", "--allow-any-filesystem", Kind::boolean, "also tmpfs and network file systems",
       [](Config& c, Texts t) { return set_bool(c.allow_any_filesystem, t[0]); },
       [](const Config& c) { return T{c.allow_any_filesystem ? "true" : "false"}; }},
      {"store.base", "--store-base", Kind::text, "root of a read-only store to look in after this one; empty: none",
       [](Config& c, Texts t) -> Rule {
         if (!t[0].empty()) return set_path(c.store_base, t[0]);
         c.store_base.clear();
         return {};
       },
       [](const Config& c) { return T{c.store_base}; }},
      {"compile.workers", "--workers", Kind::number, "compiles at once; 0: as cores and memory allow",
       [](Config& c, Texts t) { return set_number(c.workers, t[0], 0, 1024); },
       [](const Config& c) { return T{std::to_string(c.workers)}; }},
      {"compile.queue", "--queue", Kind::number, "compiles that may wait; then resource_exhausted",
       [](Config& c, Texts t) { return set_number(c.queue, t[0], 1, 1 << 20); },
       [](const Config& c) { return T{std::to_string(c.queue)}; }},
      {"compile.cpu_time", "--compile-cpu-time", Kind::text, "processor time of one compile",
       [](Config& c, Texts t) { return set_seconds(c.compile_cpu_time, t[0]); },
       [](const Config& c) { return T{std::to_string(c.compile_cpu_time.count()) + "s"}; }},
      {"compile.timeout", "--compile-timeout", Kind::text, "of one compile, by the clock",
       [](Config& c, Texts t) { return set_seconds(c.compile_timeout, t[0]); },
       [](const Config& c) { return T{std::to_string(c.compile_timeout.count()) + "s"}; }},
      {"compile.memory", "--compile-memory", Kind::text, "address space of one compile",
       [](Config& c, Texts t) { return set_size(c.compile_memory, t[0], 512 * kMiB); },
       [](const Config& c) { return T{std::to_string(c.compile_memory)}; }},
      {"compile.worker_path", "--worker", Kind::text, "the cubind-worker program; empty: beside the daemon",
       [](Config& c, Texts t) -> Rule {
         if (!t[0].empty()) return set_path(c.worker_path, t[0]);
         c.worker_path.clear();
         return {};
       },
       [](const Config& c) { return T{c.worker_path}; }},
      {"compile.toolchains", "--toolchain-path", Kind::list, "NVRTC libraries or folders; empty: the usual places",
       [](Config& c, Texts t) { return set_paths(c.toolchains, t); }, [](const Config& c) { return c.toolchains; }},
      {"compile.wheel_roots", "--wheel-root", Kind::list, "folders of Python packages that may bring an NVRTC",
       [](Config& c, Texts t) { return set_paths(c.wheel_roots, t); }, [](const Config& c) { return c.wheel_roots; }},
      {"compile.default_toolchain", "--default-toolchain", Kind::text, "id for who asks for any; empty: the newest",
       [](Config& c, Texts t) -> Rule {
         c.default_toolchain = t[0];
         return {};
       },
       [](const Config& c) { return T{c.default_toolchain}; }},
      {"admin.users", "--admin-user", Kind::list, "who may verify, purge and reload, by name or number, beside root",
       [](Config& c, Texts t) { return set_uids(c.admins.uids, t); },
       [](const Config& c) { return texts_of(c.admins.uids); }, kLive},
      {"admin.groups", "--admin-group", Kind::list, "likewise, by group",
       [](Config& c, Texts t) { return set_gids(c.admins.gids, t); },
       [](const Config& c) { return texts_of(c.admins.gids); }, kLive},
      {"shutdown_grace", "--shutdown-grace", Kind::text, "for running compiles at SIGTERM",
       [](Config& c, Texts t) { return set_seconds(c.shutdown_grace, t[0]); },
       [](const Config& c) { return T{std::to_string(c.shutdown_grace.count()) + "s"}; }, kLive},
      {"bundle.trusted_keys", "--trusted-key", Kind::list,
       "public keys (PEM) whose signed bundles may be imported; empty: any",
       [](Config& c, Texts t) { return set_paths(c.trusted_keys, t); }, [](const Config& c) { return c.trusted_keys; }},
      {"bundle.require_signed", "--require-signed", Kind::boolean, "bundles without a signature are refused",
       [](Config& c, Texts t) { return set_bool(c.require_signed, t[0]); },
       [](const Config& c) { return T{c.require_signed ? "true" : "false"}; }},
      {"metrics.socket", "--metrics-socket", Kind::text,
       "Unix socket for Prometheus; empty: metrics.sock beside the other one; off: none",
       [](Config& c, Texts t) { return set_metrics_socket(c.metrics_socket, t[0]); },
       [](const Config& c) { return T{c.metrics_socket}; }},
      {"metrics.listen", "--metrics-listen", Kind::text, "the same on TCP, as 127.0.0.1:9155; empty: not",
       [](Config& c, Texts t) { return set_listen(c.metrics_listen, t[0]); },
       [](const Config& c) { return T{c.metrics_listen ? to_string(*c.metrics_listen) : ""}; }},
      {"log.level", "--log-level", Kind::text, "debug, info, warn, error or off",
       [](Config& c, Texts t) { return set_word<LogLevel>(c.log_level, t[0], kLevels); },
       [](const Config& c) { return T{word_of<LogLevel>(c.log_level, kLevels)}; }, kLive},
      {"log.format", "--log-format", Kind::text, "text or json",
       [](Config& c, Texts t) { return set_word<LogFormat>(c.log_format, t[0], kFormats); },
       [](const Config& c) { return T{word_of<LogFormat>(c.log_format, kFormats)}; }, kLive},
  };
  return table;
}

}  // namespace cubind
