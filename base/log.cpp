#include "base/log.hpp"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>

#include <unistd.h>

namespace cubind {

namespace {

LogFormat g_format = LogFormat::text;
LogLevel g_level = LogLevel::info;
std::atomic<int> g_fd{2};
std::atomic<std::uint64_t> g_lost{0};

// The thread sleeps while there is nothing, and once woken waits a little for more: one wake-up and one write for all
// lines of kLogDelay.
class Writer {
 public:
  void append(std::string_view line) {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      if (buffer_.size() + line.size() > kLogBufferBytes) {
        ++g_lost;
        return;
      }
      wake = buffer_.empty();
      buffer_ += line;
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    }
    if (wake) changed_.notify_all();
  }

  void flush() {
    std::unique_lock lock(mutex_);
    urgent_ = true;
    changed_.notify_all();
    written_.wait(lock, [this] { return !thread_.joinable() || (buffer_.empty() && !writing_); });
    urgent_ = false;
  }

  ~Writer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    std::string lines;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !buffer_.empty() || stopping_; });
      if (buffer_.empty()) return;
      changed_.wait_for(lock, kLogDelay, [this] { return urgent_ || stopping_; });
      lines.swap(buffer_);
      writing_ = true;
      lock.unlock();
      write_all(lines);
      lines.clear();
      lock.lock();
      writing_ = false;
      written_.notify_all();
    }
  }

  static void write_all(std::string_view text) {
    while (!text.empty()) {
      const auto count = ::write(g_fd, text.data(), text.size());
      if (count < 0 && errno != EINTR) return;  // there is nowhere to tell
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_, written_;
  std::string buffer_;
  bool urgent_ = false, stopping_ = false, writing_ = false;
  std::thread thread_;
};

Writer& writer() {
  static Writer instance;
  return instance;
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

// The text of a second is made once a second.
void append_timestamp(std::string& out) {
  thread_local std::time_t made_for = -1;
  thread_local char second[32];
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::system_clock::to_time_t(now);
  if (seconds != made_for) {
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &utc);
    made_for = seconds;
  }
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  out += second;
  out += '.';
  out += static_cast<char>('0' + millis / 100);
  out += static_cast<char>('0' + millis / 10 % 10);
  out += static_cast<char>('0' + millis % 10);
  out += 'Z';
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

void append_json(std::string& line, LogLevel level, std::string_view event, std::span<const LogField> fields) {
  line += R"({"time": ")";
  append_timestamp(line);
  line += R"(", "level": ")";
  line += name_of(level);
  line += R"(", "event": )";
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
  line += "}\n";
}

void append_text(std::string& line, LogLevel level, std::string_view event, std::span<const LogField> fields) {
  append_timestamp(line);
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
  line += '\n';
}

}  // namespace

void configure_log(LogLevel level, LogFormat format, int fd) {
  g_level = level;
  g_format = format;
  g_fd = fd;
}

LogLevel log_level() {
  return g_level;
}

std::uint64_t log_lines_lost() {
  return g_lost;
}

void flush_log() {
  writer().flush();
}

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  log(level, event, std::span<const LogField>(fields.begin(), fields.size()));
}

void log(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  if (level < g_level || g_level == LogLevel::off) return;
  thread_local std::string line;  // its memory is used again
  line.clear();
  if (g_format == LogFormat::json) {
    append_json(line, level, event, fields);
  } else {
    append_text(line, level, event, fields);
  }
  writer().append(line);
}

}  // namespace cubind
