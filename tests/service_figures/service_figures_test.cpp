// The counts and booleans among the service's figures, on real daemons with the real NVRTC. The ratios among them are
// scripts/bench.sh's.
#include <filesystem>

#include <gtest/gtest.h>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "tests/support/temp_folder.hpp"

namespace cubind::bench {
namespace {

Programs programs_in(const TempFolder& scratch) {
  Programs programs;
  programs.scratch = scratch.path();
  const auto found = fill_in(programs, CUBIND_PROGRAMS);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return programs;
}

void expect_holds(const Result<Figures>& figures, const std::vector<std::string>& names) {
  ASSERT_TRUE(figures.ok()) << to_string(figures.error());
  std::size_t found = 0;
  for (const auto& figure : *figures) {
    for (const auto& name : names) {
      if (figure.name != name) continue;
      ++found;
      EXPECT_TRUE(figure.holds()) << to_json(figure);
    }
  }
  EXPECT_EQ(found, names.size());
}

TEST(ServiceFigures, OneColdKernelAskedForBy64ProcessesIsCompiledOnceAndTheSameForAll) {
  const TempFolder scratch;
  expect_holds(stampede_figures(programs_in(scratch), 1), {"stampede.nvrtc_calls", "stampede.distinct_sha256"});
}

TEST(ServiceFigures, ModelNeedsFewKernelsEachCompiledOnceAndHitsNeedNoToolchain) {
  const TempFolder scratch;
  const auto programs = programs_in(scratch);
  const auto layers = model_layers(programs.model);
  ASSERT_TRUE(layers.ok()) << to_string(layers.error());
  auto daemon = DaemonUnderTest::prepare(programs, "fleet");
  ASSERT_TRUE(daemon.ok()) << to_string(daemon.error());
  const auto started = daemon->start({});
  ASSERT_TRUE(started.ok()) << to_string(started.error());
  expect_holds(fleet_figures(programs, *daemon, *layers, false), {"fleet.extra_compiles"});
  expect_holds(model_figures(*daemon, *layers), {"model.distinct_keys", "model.m_buckets"});
  const auto stopped = daemon->stop();
  ASSERT_TRUE(stopped.ok()) << to_string(stopped.error());
#ifdef CUBIND_FAULT_POINTS
  expect_holds(hit_before_toolchain_figures(*daemon, *layers), {"start.hit_before_toolchain"});
#endif
}

#ifdef CUBIND_FAULT_POINTS
TEST(ServiceFigures, NothingAnsweredIsLostOrWrongAfterAKillAtAnyStepOfPublishing) {
  const TempFolder scratch;
  const auto programs = programs_in(scratch);
  const auto layers = model_layers(programs.model);
  ASSERT_TRUE(layers.ok()) << to_string(layers.error());
  expect_holds(crash_figures(programs, layers->front(), 2), {"crash.lost_answers", "crash.wrong"});
}
#endif

}  // namespace
}  // namespace cubind::bench
