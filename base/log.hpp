// The logging facade: events with key=value fields, written as text or as JSON lines to standard error. Only daemon/
// and client/cli/ log; libraries return errors. One call is one line. Thread-safe after configure().
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace cubind {

enum class LogLevel : int { debug = 0, info = 1, warn = 2, error = 3, off = 4 };
enum class LogFormat : int { text = 0, json = 1 };

struct LogField {
  std::string_view key;
  std::string value;
  bool is_number = false;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  LogField(std::string_view k, T v) : key(k), value(std::to_string(v)), is_number(true) {}
};

// First before threads start; later calls change level and format for the lines that follow. Text:
// `2026-11-30T18:56:30.123Z info get key=3fa1c2 outcome=built`; JSON: {"time": ..., "level": "info", "event": "get",
// "key": "3fa1c2", ...}.
void configure_log(LogLevel level, LogFormat format);
LogLevel log_level();
std::uint64_t log_lines_lost();  // because the writer's queue was full

// `event` is a stable word (get, compile, start, stop); values with spaces are quoted in text.
void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);
void log(LogLevel level, std::string_view event, std::span<const LogField> fields);

}  // namespace cubind
