// A node's ranks start together on a cold store: 8 processes ask for the whole model, each in an order of its own.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>

#include "bench/service/bare_compile.hpp"
#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/process_fleet.hpp"
#include "codegen/cache_key.hpp"
#include "codegen/plan/planner.hpp"

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

// What a set of compiles takes, and how long W workers may need for it by Graham's bound: no schedule that leaves no
// worker idle while something waits is longer.
struct Load {
  double sum_ms = 0, longest_ms = 0;

  void add(double ms) {
    sum_ms += ms;
    longest_ms = std::max(longest_ms, ms);
  }
  double bound_ms(double workers) const { return sum_ms / workers + (1 - 1 / workers) * longest_ms; }
  std::string text() const { return "sum " + fixed(sum_ms, 0) + " ms, longest " + fixed(longest_ms, 0) + " ms"; }
};

// The same units one after another, each by a bare NVRTC program that has the machine for itself.
Result<Load> compile_alone(const Programs& programs, const DaemonUnderTest& daemon,
                           const std::vector<LayerSpec>& layers, const std::map<KernelKey, double>& compiles) {
  CUBIND_TRY(const auto toolchains, find_toolchains({daemon.toolchain_path()}, {}));
  std::map<KernelKey, CompileUnit> units;
  for (const auto& layer : layers) {
    CUBIND_TRY(const auto table, launch_table(layer.descriptor, kArch, kSmCount, layer.n, layer.k, layer.max_m));
    for (const auto& config : table.configs) {
      CUBIND_TRY(auto keyed, make_keyed_unit(layer.descriptor, config, kArch, toolchains.front()));
      units.emplace(keyed.unit.key, std::move(keyed.unit));
    }
  }
  Load alone;
  for (const auto& [key, ms] : compiles) {
    const auto unit = units.find(key);
    if (unit == units.end()) {
      return Error{ErrorCode::internal,
                   "the daemon answered with kernel \"" + key.short_hex() + "\", which no plan has"};
    }
    CUBIND_TRY(const auto bare, compile_bare(programs, toolchains.front(), unit->second));
    alone.add(bare.ms);
  }
  return alone;
}

}  // namespace

Result<Figures> fleet_figures(const Programs& programs, DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers,
                              bool with_ratio) {
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
  Figures figures = {{"fleet.extra_compiles", done - distinct, Figure::Bound::equal, 0,
                      std::to_string(kFleetProcesses) + " processes, " + fixed(done, 0) + " compiles, " +
                          fixed(distinct, 0) + " distinct keys" +
                          (same ? "" : "; not all processes got the same kernels"),
                      same && distinct > 0}};
  if (!with_ratio) return figures;

  CUBIND_TRY(const auto workers, counter(daemon, "cubind_compiles_running_most"));
  CUBIND_TRY(const auto alone, compile_alone(programs, daemon, layers, compiles));
  Load loaded;
  for (const auto& [key, ms] : compiles) loaded.add(ms);
  const double wall_ms = ended_ms - began_ms;
  // The workers' own times have in them whatever slowed them down, our daemon and clients included, and would make a
  // slow service look well scheduled. The figure takes the times alone, which nothing of ours can stretch.
  figures.push_back({"fleet.schedule_ratio", wall_ms / alone.bound_ms(workers), Figure::Bound::at_most, 1.15,
                     "wall " + fixed(wall_ms, 0) + " ms; compiled alone by a bare program: " + alone.text() +
                         ", of which the figure; in the workers: " + loaded.text() + ", which would make it " +
                         fixed(wall_ms / loaded.bound_ms(workers), 2) + "; " + fixed(workers, 0) +
                         " workers seen busy" + (workers >= 2 ? "" : ": too few to tell"),
                     workers >= 2});
  return figures;
}

}  // namespace cubind::bench
