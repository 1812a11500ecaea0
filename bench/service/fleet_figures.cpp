// A node's ranks start together on a cold store: 8 processes ask for the whole model, each in an order of its own.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/process_fleet.hpp"

namespace cubind::bench {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostKernels = 64;  // far above what a model needs

struct RankOutcome {
  double ended_ms = 0;  // steady clock
  std::size_t kernels = 0;
  Digest keys[kMostKernels];
  double compile_ms[kMostKernels];
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

Status run_rank(const DaemonUnderTest& daemon, std::vector<LayerSpec> layers, std::size_t index, Race& race,
                RankOutcome& outcome) {
  std::shuffle(layers.begin(), layers.end(), std::mt19937(static_cast<unsigned>(index)));
  CUBIND_TRY(const auto client, daemon.connect("rank"));
  Status failed;
  KernelsCallbacks callbacks;
  callbacks.kernel = [&](const KernelReply& reply, const Bytes& code) {
    if (reply.code != ErrorCode::ok) {
      failed = Error{reply.code, reply.message};
    } else if (code.empty() || outcome.kernels == kMostKernels) {
      failed = Error{ErrorCode::internal, "a kernel without code, or too many"};
    } else {
      outcome.keys[outcome.kernels] = reply.key;
      outcome.compile_ms[outcome.kernels++] = reply.info.compile_ms;
    }
  };
  race.start();
  const auto summary = client->kernels(request_of(layers), callbacks);
  outcome.ended_ms = now_ms();
  race.end();
  if (!summary.ok()) return summary.error();
  return failed;
}

Result<double> counter(const DaemonUnderTest& daemon, const std::string& name) {
  CUBIND_TRY(const auto client, daemon.connect("bench"));
  CUBIND_TRY(const auto stats, client->stats());
  for (const auto& one : stats.counters) {
    if (one.name == name) return one.value;
  }
  return Error{ErrorCode::not_found, "the daemon has no counter \"" + name + "\""};
}

}  // namespace

Result<Figures> fleet_figures(DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers) {
  const auto before = daemon.compiles();
  double began_ms = 0;
  CUBIND_TRY(const auto ranks, run_fleet<RankOutcome>(
                                   kFleetProcesses,
                                   [&](std::size_t index, Race& race, RankOutcome& outcome) {
                                     return run_rank(daemon, layers, index, race, outcome);
                                   },
                                   [&] { began_ms = now_ms(); }));
  std::map<Digest, double> compiles;
  bool same = true;
  double ended_ms = 0;
  for (const auto& rank : ranks) {
    std::set<Digest> keys(rank.keys, rank.keys + rank.kernels);
    for (std::size_t i = 0; i < rank.kernels; ++i) compiles[rank.keys[i]] = rank.compile_ms[i];
    same = same && keys.size() == compiles.size();
    ended_ms = std::max(ended_ms, rank.ended_ms);
  }
  const auto done = static_cast<double>(daemon.compiles() - before);
  const auto distinct = static_cast<double>(compiles.size());
  double sum_ms = 0, longest_ms = 0;
  for (const auto& [key, ms] : compiles) {
    sum_ms += ms;
    longest_ms = std::max(longest_ms, ms);
  }
  CUBIND_TRY(const auto workers, counter(daemon, "cubind_compiles_running_most"));
  const double wall_ms = ended_ms - began_ms;
  const double ideal_ms = sum_ms / workers + (1 - 1 / workers) * longest_ms;
  return Figures{
      {"fleet.extra_compiles", done - distinct, Figure::Bound::equal, 0,
       std::to_string(kFleetProcesses) + " processes, " + fixed(done, 0) + " compiles, " + fixed(distinct, 0) +
           " distinct keys" + (same ? "" : "; not all processes got the same kernels"),
       same && distinct > 0},
      {"fleet.schedule_ratio", wall_ms / ideal_ms, Figure::Bound::at_most, 1.15,
       "wall " + fixed(wall_ms, 0) + " ms, sum " + fixed(sum_ms, 0) + " ms, longest " + fixed(longest_ms, 0) + " ms, " +
           fixed(workers, 0) + " workers seen busy" + (workers >= 2 ? "" : ": too few to tell"),
       workers >= 2},
  };
}

}  // namespace cubind::bench
