#include "base/log.hpp"

#include <chrono>
#include <ctime>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace cubind {
namespace {

// What `write` logs, without its last newline.
template <class Write>
std::string logged(Write write) {
  testing::internal::CaptureStderr();
  write();
  auto text = testing::internal::GetCapturedStderr();
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string second_of(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
  return text;
}

TEST(Log, EachLineHasTheTimeToTheMillisecond) {
  configure_log(LogLevel::info, LogFormat::text);
  std::string last;
  for (int line = 0; line < 3; ++line) {
    const auto before = second_of(std::chrono::system_clock::now());
    const auto text = logged([] { log(LogLevel::info, "get", {{"key", "3fa1c2"}, {"why", "two words"}, {"n", 7}}); });
    const auto after = second_of(std::chrono::system_clock::now());
    ASSERT_TRUE(std::regex_match(
        text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info get key=3fa1c2 why="two words" n=7)")))
        << text;
    EXPECT_LE(before, text.substr(0, 19));
    EXPECT_GE(after, text.substr(0, 19));
    EXPECT_LE(last, text.substr(0, 23));
    last = text.substr(0, 23);
  }
}

TEST(Log, JsonHasNumbersAsNumbers) {
  configure_log(LogLevel::info, LogFormat::json);
  const auto text = logged([] { log(LogLevel::warn, "dropped", {{"bytes", 12}, {"reason", "a \"b\""}}); });
  configure_log(LogLevel::info, LogFormat::text);
  EXPECT_TRUE(std::regex_match(
      text,
      std::regex(
          R"re(\{"time": "[-0-9T:.]{23}Z", "level": "warn", "event": "dropped", "bytes": 12, "reason": "a \\"b\\""\})re")))
      << text;
}

TEST(Log, BelowTheLevelNothingIsWritten) {
  configure_log(LogLevel::warn, LogFormat::text);
  EXPECT_EQ(logged([] { log(LogLevel::info, "get", {{"key", "3fa1c2"}}); }), "");
  configure_log(LogLevel::info, LogFormat::text);
}

}  // namespace
}  // namespace cubind
