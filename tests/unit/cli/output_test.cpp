#include "client/cli/output.hpp"

#include <gtest/gtest.h>

#include "client/cli/progress.hpp"

namespace cubind::cli {
namespace {

TEST(Output, TablesAlignTheirColumns) {
  EXPECT_EQ(table({{"a", "long", "x"}, {"bcd", "e", "yz"}}), "a    long  x\nbcd  e     yz\n");
  EXPECT_EQ(table({}), "");
}

TEST(Output, ControlCharactersAreNotPrinted) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f"), "a [31m b ");
}

TEST(Output, Units) {
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(54374), "53.1 KB");
  EXPECT_EQ(bytes_text(3ull << 30), "3.0 GB");
  EXPECT_EQ(seconds_text(412), "0.41 s");
  EXPECT_EQ(seconds_text(31'400), "31.4 s");
  EXPECT_EQ(time_text(0), "1970-01-01 00:00:00");
}

struct Screen {
  std::string text;
  Progress on(bool terminal, bool silent = false, std::size_t columns = 200) {
    return Progress(terminal, silent, columns, [this](std::string_view written) { text += written; });
  }
};

TEST(Progress, IsOneLineDrawnAgainOnATerminal) {
  Screen screen;
  {
    auto progress = screen.on(true);
    progress.show("sm_90", {1, 12, 3, 2, 7, 1500});
    progress.show("sm_90", {1, 12, 4, 2, 6, 2000});
  }
  EXPECT_EQ(screen.text,
            "\r\x1b[Ksm_90: 3 of 12 kernels, 2 compiling, 7 queued, 1.50 s"
            "\r\x1b[Ksm_90: 4 of 12 kernels, 2 compiling, 6 queued, 2.00 s"
            "\r\x1b[K");
}

TEST(Progress, NeverFillsTheTerminalsLine) {
  Screen screen;
  screen.on(true, false, 10).show("sm_90", {1, 12, 3, 2, 7, 1500});
  EXPECT_EQ(screen.text, "\r\x1b[Ksm_90: 3 \r\x1b[K");
}

TEST(Progress, IsALineForEachChangeElsewhere) {
  Screen screen;
  {
    auto progress = screen.on(false);
    progress.show("sm_90", {1, 12, 0, 2, 10, 500});
    progress.show("sm_90", {1, 12, 0, 2, 10, 1000});
    progress.show("sm_90", {1, 12, 1, 2, 9, 1500});
  }
  EXPECT_EQ(screen.text,
            "sm_90: 0 of 12 kernels, 2 compiling, 10 queued, 0.50 s\n"
            "sm_90: 1 of 12 kernels, 2 compiling, 9 queued, 1.50 s\n");
}

TEST(Progress, CanBeSilent) {
  Screen screen;
  screen.on(false, true).show("sm_90", {1, 12, 0, 2, 10, 500});
  EXPECT_EQ(screen.text, "");
}

}  // namespace
}  // namespace cubind::cli
