#include "base/log.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace cubind {

namespace {

std::atomic<LogFormat> g_format = LogFormat::text;
std::atomic<LogLevel> g_level = LogLevel::info;

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("cubind", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warn: return "warn";
    case LogLevel::error: return "error";
    case LogLevel::off: break;
  }
  return "off";
}

std::string timestamp() {
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::system_clock::to_time_t(now);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  // Most lines come in the same second as the one before: the calendar is not gone through for each.
  thread_local std::time_t known = -1;
  thread_local char text[] = "YYYY-MM-DDThh:mm:ss.mmmZ";
  if (seconds != known) {
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    text[19] = '.';
    known = seconds;
  }
  text[20] = static_cast<char>('0' + millis / 100);
  text[21] = static_cast<char>('0' + millis / 10 % 10);
  text[22] = static_cast<char>('0' + millis % 10);
  return text;
}

void append_quoted(std::string& out, std::string_view value) {
  out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

bool needs_quotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '=' || c == '\\') return true;
  }
  return false;
}

}  // namespace

void configure_log(LogLevel level, LogFormat format) {
  g_level = level;
  g_format = format;
  logger();
}

LogLevel log_level() {
  return g_level;
}

std::uint64_t log_lines_lost() {
  return 0;
}

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  log(level, event, std::span<const LogField>(fields.begin(), fields.size()));
}

void log(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  if (level < g_level || g_level == LogLevel::off) return;
  std::string line;
  line.reserve(160);
  if (g_format == LogFormat::json) {
    line += R"({"time": ")" + timestamp() + R"(", "level": ")" + std::string(name_of(level)) + R"(", "event": )";
    append_quoted(line, event);
    for (const auto& field : fields) {
      line += ", ";
      append_quoted(line, field.key);
      line += ": ";
      if (field.is_number) {
        line += field.value;
      } else {
        append_quoted(line, field.value);
      }
    }
    line += '}';
  } else {
    line += timestamp();
    line += ' ';
    line += name_of(level);
    line += ' ';
    line += event;
    for (const auto& field : fields) {
      line += ' ';
      line += field.key;
      line += '=';
      if (needs_quotes(field.value)) {
        append_quoted(line, field.value);
      } else {
        line += field.value;
      }
    }
  }
  logger().log(level >= LogLevel::error ? spdlog::level::err : spdlog::level::info,
               spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace cubind
