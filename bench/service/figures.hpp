// The figures of the service, by what they need. Each measures with real processes; an error means that it could not be
// measured. Counts and booleans among them are also tests (tests/service_figures), at the sizes given
// here.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "bench/service/daemon_under_test.hpp"
#include "bench/service/figure.hpp"
#include "bench/service/programs.hpp"
#include "protocol/messages.hpp"

namespace cubind::bench {

using Figures = std::vector<Figure>;

inline constexpr std::size_t kStampedeProcesses = 64;
inline constexpr std::size_t kFleetProcesses = 8;
inline constexpr std::size_t kRecordsOnDisk = 1000;
inline constexpr std::size_t kRecordBytes = 60 << 10;
inline constexpr std::chrono::milliseconds kToolchainHold{2000};
inline constexpr std::size_t kKillsPerStep = 20;  // of five steps

// stampede.nvrtc_calls, stampede.distinct_sha256, stampede.tail_ratio: one cold kernel a repeat.
Result<Figures> stampede_figures(const Programs& programs, std::size_t repeats);

// fleet.extra_compiles; `with_ratio` also fleet.schedule_ratio, for which everything is compiled once more: `daemon` is
// running and knows no kernel yet.
Result<Figures> fleet_figures(const Programs& programs, DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers,
                              bool with_ratio);

// model.distinct_keys, model.m_buckets: `daemon` is running; what it lacks of the catalogue is compiled.
Result<Figures> model_figures(DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers);

// boot.ratio: `daemon` has the model's kernels on disk and is not running; nor is it afterwards.
Result<Figures> boot_figures(const Programs& programs, DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers,
                             std::size_t repeats);

// start.hit_before_toolchain: the same; and it has to be built with fault points.
Result<Figures> hit_before_toolchain_figures(DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers);

// hit.pinned_ratio; batch.ratio, of the table of `layer`.
Result<Figures> hit_figures(const Programs& programs, const LayerSpec& layer, std::size_t blocks);

// start.open_ratio, or another name with as many records.
Result<Figures> open_figures(const Programs& programs, std::size_t repeats, std::size_t records = kRecordsOnDisk,
                             const std::string& name = "start.open_ratio");

// crash.lost_answers, crash.wrong: kernels like `layer`'s are asked for while the daemon is killed that often at each
// step of publishing, and again after each restart. The daemon has to be built with fault points.
Result<Figures> crash_figures(const Programs& programs, const LayerSpec& layer, std::size_t kills_per_step);

// compile.ratio: that many pairs.
Result<Figures> compile_figures(const Programs& programs, const LayerSpec& layer, std::size_t pairs);

}  // namespace cubind::bench
