// What the planner chooses, held against times that were measured on an H200 (tests/golden/plan/h200.csv).
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/unit/plan/served.hpp"

namespace cubind {
namespace {

constexpr Arch kHopper{90, '\0'}, kHopperWgmma{90, 'a'};
constexpr std::uint32_t kSmCount = 132;

struct Time {
  GemmConfig config;
  std::uint32_t splits;
  double us;
};

using TimesOfM = std::map<std::uint32_t, std::vector<Time>>;

const GemmDescriptor& descriptor() {
  static const auto d = served::w4a16(DType::bf16, 128, ZeroPointKind::integer);
  return d;
}

using TimesOfLayer = std::map<std::pair<std::uint32_t, std::uint32_t>, TimesOfM>;

// By n, k; then m. Of a file below the source directory.
TimesOfLayer read_times(const std::string& path, const GemmDescriptor& descriptor, Arch arch) {
  TimesOfLayer all;
  std::ifstream file(CUBIND_SOURCE_DIR "/" + path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("descriptor,")) continue;
    std::istringstream fields(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    EXPECT_EQ(f.size(), 9u) << line;
    if (f.size() != 9) return {};
    EXPECT_EQ(f[0] + f[1] + f[2], short_name(descriptor) + to_string(arch) + "132");
    const auto config = config_from_name(descriptor, arch, f[6]);
    EXPECT_TRUE(config.ok()) << line;
    if (!config.ok()) return {};
    const auto number = [&f](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(f[i])); };
    all[{number(3), number(4)}][number(5)].push_back({*config, number(7), std::stod(f[8])});
  }
  return all;
}

TimesOfLayer measured() {
  return read_times("tests/golden/plan/h200.csv", descriptor(), kHopper);
}

const Time& fastest(const std::vector<Time>& times) {
  return *std::min_element(times.begin(), times.end(), [](const Time& a, const Time& b) { return a.us < b.us; });
}

// The law of the catalogue: a layer uses at least three kernels because at least three are worth having.
TEST(Measured, ALayerUsesThreeConfigsEachTheFastestAtSomeM) {
  const auto all = measured();
  for (const auto [n, k] : served::kLlama8b) {
    ASSERT_TRUE(all.contains({n, k})) << n << " x " << k;
    const auto table = *launch_table(descriptor(), kHopper, kSmCount, n, k, 8192);
    std::set<std::string> fastest_where_used;
    for (const auto& [m, times] : all.at({n, k})) {
      for (const auto& interval : table.intervals) {
        if (m < interval.m_first || m > interval.m_last) continue;
        const auto& used = table.configs[interval.config];
        if (used == fastest(times).config) fastest_where_used.insert(config_name(used));
      }
    }
    EXPECT_GE(fastest_where_used.size(), 3u) << n << " x " << k;
  }
}

// The file has the rows within 1.3 of the fastest; a plan that is not among them is worse than that, or was not
// measured.
TEST(Measured, APlanIsWithinFifteenPercentOfTheFastestAndOnePointFiveOnAverage) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [layer, of_m] : measured()) {
    for (const auto& [m, times] : of_m) {
      const auto chosen = *plan(descriptor(), kHopper, kSmCount, layer.first, layer.second, m);
      const auto what = std::to_string(layer.first) + " x " + std::to_string(layer.second) + ", m " +
                        std::to_string(m) + ": " + config_name(chosen.config) + " splits " +
                        std::to_string(chosen.splits);
      const auto row = std::find_if(times.begin(), times.end(), [&chosen](const Time& time) {
        return time.config == chosen.config && time.splits == chosen.splits;
      });
      ASSERT_NE(row, times.end()) << what;
      const double ratio = row->us / fastest(times).us;
      EXPECT_LE(ratio, 1.15) << what;
      sum += std::log(ratio);
      ++count;
    }
  }
  ASSERT_GE(count, 60u);
  EXPECT_LE(std::exp(sum / static_cast<double>(count)), 1.015);
}

// sm_90a, from one run over all of its catalogue, in which mma.sync was timed up to 32 tokens and 4 splits: plans
// without a time do not count.
TEST(Measured, OnSm90aAPlanIsWithinTenPercentOfTheFastestAndOneOnAverage) {
  const auto symmetric = served::w4a16(DType::bf16, 128, ZeroPointKind::none);
  double sum = 0;
  std::size_t count = 0, not_timed = 0;
  for (const auto& [layer, of_m] :
       read_times("bench/results/h200-wgmma-sweep-2026-12-01.csv", symmetric, kHopperWgmma)) {
    for (const auto& [m, times] : of_m) {
      const auto chosen = *plan(symmetric, kHopperWgmma, kSmCount, layer.first, layer.second, m);
      const auto row = std::find_if(times.begin(), times.end(), [&chosen](const Time& time) {
        return time.config == chosen.config && time.splits == chosen.splits;
      });
      const auto& best = fastest(times);
      const auto what = std::to_string(layer.first) + " x " + std::to_string(layer.second) + ", m " +
                        std::to_string(m) + ": " + config_name(chosen.config) + " splits " +
                        std::to_string(chosen.splits) + ", fastest " + config_name(best.config) + " splits " +
                        std::to_string(best.splits);
      if (row == times.end()) {
        ++not_timed;
        std::printf("not timed: %s\n", what.c_str());
        continue;
      }
      EXPECT_LE(row->us / best.us, 1.10) << what;
      sum += std::log(row->us / best.us);
      ++count;
    }
  }
  ASSERT_GE(count, 100u);
  EXPECT_LE(not_timed, 12u);
  EXPECT_LE(std::exp(sum / static_cast<double>(count)), 1.01);
}

}  // namespace
}  // namespace cubind
