#include "base/log.hpp"

#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temp_folder.hpp"

namespace cubind {
namespace {

struct LogTest : testing::Test {
  TempFolder folder;
  std::string path = folder / "log";
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  ~LogTest() override {
    configure_log(LogLevel::off, LogFormat::text);
    ::close(fd);
  }
  std::vector<std::string> written() {
    flush_log();
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(LogTest, TextHasTimeLevelEventAndFields) {
  configure_log(LogLevel::info, LogFormat::text, fd);
  log(LogLevel::info, "get", {{"key", "3fa1c2"}, {"ms", 12}, {"error", "two words"}, {"empty", ""}});
  const auto lines = written();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(std::regex_match(
      lines[0],
      std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info get key=3fa1c2 ms=12 error="two words" empty="")")))
      << lines[0];
}

TEST_F(LogTest, JsonKeepsNumbersAndEscapes) {
  configure_log(LogLevel::info, LogFormat::json, fd);
  log(LogLevel::warn, "put_failed", {{"bytes", 7}, {"error", "a \"b\"\n\x01"}});
  const auto lines = written();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(R"("level": "warn", "event": "put_failed", "bytes": 7, "error": "a \"b\"\n\u0001"})"),
            std::string::npos)
      << lines[0];
}

TEST_F(LogTest, WhatIsBelowTheLevelIsNotWritten) {
  configure_log(LogLevel::warn, LogFormat::text, fd);
  log(LogLevel::info, "get", {});
  log(LogLevel::error, "bad", {});
  EXPECT_EQ(written().size(), 1u);
}

TEST_F(LogTest, LinesOfManyThreadsStayWholeAndNoneIsLost) {
  configure_log(LogLevel::info, LogFormat::text, fd);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 500; ++i) log(LogLevel::info, "line", {{"thread", thread}, {"end", "x"}});
    });
  }
  for (auto& thread : threads) thread.join();
  const auto lines = written();
  EXPECT_EQ(lines.size(), 2000u);
  for (const auto& line : lines) ASSERT_EQ(line.substr(line.size() - 6), " end=x");
}

TEST_F(LogTest, AReaderThatTakesNothingHoldsUpNobodyAndLossesAreCounted) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  configure_log(LogLevel::info, LogFormat::text, ends[1]);
  const auto before = log_lines_lost();
  const std::string text(10'000, 'x');
  for (int i = 0; i < 500; ++i) log(LogLevel::info, "line", {{"text", text}});  // 5 MB into a pipe of 64 KB
  EXPECT_GT(log_lines_lost(), before);

  std::thread reader([&] {  // lets the writer end
    char chunk[65536];
    while (::read(ends[0], chunk, sizeof(chunk)) > 0) {
    }
  });
  flush_log();
  configure_log(LogLevel::off, LogFormat::text);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
}

}  // namespace
}  // namespace cubind
