// Tuning tables: their text, and what the planner makes of one.
#include "codegen/plan/measured_table.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/served.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;

constexpr Arch kHopper{90, 'a'};
const GemmDescriptor kAwq = served::w4a16(DType::bf16, 128, ZeroPointKind::integer);
constexpr char kFormat[] = "w4a16-bf16-g128-zp";
constexpr std::uint32_t kN = 4096, kK = 4096;

std::string some_config(std::size_t index) {
  return config_name(catalogue(kAwq, kHopper).value()[index]);
}

std::string config_at(const LaunchTable& table, std::uint32_t m) {
  for (const auto& interval : table.intervals) {
    if (interval.m_first <= m && m <= interval.m_last) return config_name(table.configs[interval.config]);
  }
  return {};
}

TEST(MeasuredTable, ComesBackFromItsTextWithProvenance) {
  MeasuredTable table(kHopper, 132);
  table.note("gpu", "NVIDIA H200");
  table.note("date", "2026-12-01");
  table.add(kFormat, kN, kK, {64, "b", 2, 12.5});
  table.add(kFormat, kN, kK, {8, "a", 1, 5.25});
  table.add(kFormat, kN, kK, {64, "slower", 1, 12.6});
  table.add(kFormat, kN, kK, {64, "faster", 3, 12.4});
  const auto text = table.text();
  EXPECT_EQ(text,
            "cubind-tuning 1\n# arch: sm_90a\n# sm_count: 132\n# gpu: NVIDIA H200\n# date: 2026-12-01\n"
            "w4a16-bf16-g128-zp 4096 4096 8 a 1 5.25\nw4a16-bf16-g128-zp 4096 4096 64 faster 3 12.40\n");
  const auto parsed = MeasuredTable::parse(text);
  ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
  EXPECT_EQ(parsed->text(), text);
  EXPECT_EQ(parsed->cells(), 2u);
}

TEST(MeasuredTable, ABadLineIsNamed) {
  const std::string head = "cubind-tuning 1\n# arch: sm_90a\n# sm_count: 132\n";
  for (const std::string text : {"", "cubind-tuning 2\n", "cubind-tuning 1\n# arch: sm_90a\n"}) {
    EXPECT_FALSE(MeasuredTable::parse(text).ok()) << text;
  }
  for (const std::string line : {"w4a16-bf16-ch 1 1 1 a 1", "w4a16-bf16-ch 1 0 1 a 1 2.0",
                                 "w4a16-bf16-ch 1 1 1 a 1 -2.0", "w4a16-bf16-ch 1 1 x a 1 2.0", "#nothing"}) {
    const auto parsed = MeasuredTable::parse(head + line + "\n");
    ASSERT_FALSE(parsed.ok()) << line;
    EXPECT_THAT(parsed.error().message, HasSubstr("\"" + line + "\""));
  }
}

TEST(MeasuredTable, F16HasThePlansOfBf16) {
  MeasuredTable table(kHopper, 132);
  table.add(kFormat, kN, kK, {8, "a", 1, 5.25});
  EXPECT_EQ(table.plans(served::w4a16(DType::f16, 128, ZeroPointKind::integer), kN, kK).size(), 1u);
  EXPECT_TRUE(table.plans(served::w4a16(DType::bf16, 128, ZeroPointKind::none), kN, kK).empty());
  EXPECT_TRUE(table.plans(kAwq, kN, 2 * kK).empty());
}

TEST(MeasuredPlans, AreTakenAtTheirMAndBelowDownToTheNext) {
  MeasuredTable table(kHopper, 132);
  const auto small = some_config(0), other = some_config(1);  // both for 8 tokens and more
  table.add(kFormat, kN, kK, {16, small, 2, 1});
  table.add(kFormat, kN, kK, {64, other, 1, 1});
  const auto planned = launch_table(kAwq, kHopper, 132, kN, kK, 64, &table).value();
  for (const std::uint32_t m : {1u, 8u, 16u}) EXPECT_EQ(config_at(planned, m), small) << m;
  for (const std::uint32_t m : {17u, 33u, 64u}) EXPECT_EQ(config_at(planned, m), other) << m;
  EXPECT_EQ(planned.intervals.size(), 2u);
  EXPECT_EQ(planned.intervals[0].splits, 2u);
}

TEST(MeasuredPlans, TheModelChoosesWhereNothingFits) {
  const auto by_model = launch_table(kAwq, kHopper, 132, kN, kK, 512, nullptr).value();
  MeasuredTable other_device(kHopper, 114), gone(kHopper, 132), too_many(kHopper, 132);
  other_device.add(kFormat, kN, kK, {512, some_config(0), 1, 1});
  gone.add(kFormat, kN, kK, {512, "m8n8k8s8w8x8x8", 1, 1});
  too_many.add(kFormat, kN, kK, {512, some_config(0), 4096, 1});
  for (const auto* table : {&other_device, &gone, &too_many}) {
    const auto planned = launch_table(kAwq, kHopper, 132, kN, kK, 512, table).value();
    EXPECT_EQ(planned.intervals, by_model.intervals);
  }
}

// A tile is no candidate below its m: what is reachable would not hold it.
TEST(MeasuredPlans, ATileIsNotUsedBelowItsM) {
  const auto all = catalogue(kAwq, kHopper).value();
  const auto largest = config_name(all.back());
  MeasuredTable table(kHopper, 132);
  table.add(kFormat, kN, kK, {4096, largest, 1, 1});
  const auto planned = launch_table(kAwq, kHopper, 132, kN, kK, 4096, &table).value();
  EXPECT_EQ(config_at(planned, 4096), largest);
  EXPECT_NE(config_at(planned, 1), largest);
}

TEST(MeasuredTables, ThoseOfTheSourceTreeAreWellFormed) {
  const std::filesystem::path folder = std::string(CUBIND_SOURCE_DIR) + "/codegen/plan/measured";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "none";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto table = MeasuredTable::parse(text.str());
    ASSERT_TRUE(table.ok()) << entry.path() << ": " << to_string(table.error());
    EXPECT_EQ(table->text(), text.str()) << entry.path();
    EXPECT_NE(measured_table(table->arch(), table->sm_count()), nullptr);
  }
}

}  // namespace
}  // namespace cubind
