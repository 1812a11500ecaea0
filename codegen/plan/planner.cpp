#include "codegen/plan/planner.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "codegen/device/prelude.cuh"
#include "codegen/emit/spelling.hpp"
#include "codegen/plan/catalogue.hpp"
#include "codegen/plan/cost_model.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"

namespace cubind {
namespace {

constexpr std::uint32_t kMaxSms = 1024;          // more than any device has
constexpr std::uint32_t kMinKTilesPerSplit = 2;  // a split of one step is all pipeline fill
constexpr std::uint32_t kMaxGridY = 65535;
// Those that were measured. More cost more in partial sums than idle SMs do; the steps between change little.
constexpr std::uint32_t kSplits[] = {1, 2, 3, 4, 6, 8, 12};
// Clusters.
constexpr std::uint32_t kWgmmaSplits[] = {1, 2, 4};
// How much faster, by the model, another plan must be for a table to leave the one it has: the model resolves no less,
// and tables would alternate between neighbours.
constexpr double kWorthASwitch = 1.05;

std::string config_names(const std::vector<GemmConfig>& configs) {
  std::string list;
  for (const auto& config : configs) list.append(list.empty() ? "" : ", ").append(config_name(config));
  return list;
}

// The m that is planned for: m rounded up to 8, the smallest tile, and for larger m to 1/16 of its power of two, about
// the tile that is used there. So a launch table needs some hundred evaluations whatever max_m is, and is short.
std::uint32_t planned_m(std::uint32_t m) {
  const std::uint32_t step = std::max(8u, std::bit_ceil(m) / 16);
  return ceil_div(m, step) * step;
}

// Small tiles are fast above their own m, too, where a layer is small; but they are not measured beyond this.
std::uint32_t last_m(const GemmConfig& config) {
  if (is_wide(config)) return 4 * config.tile_m;
  return config.tile_m < 64 ? 8 * config.tile_m : limits::kMaxM;
}

// Everything about one layer on one device that does not depend on m.
class LayerPlanner {
 public:
  static Result<LayerPlanner> make(const GemmDescriptor& descriptor, Arch arch, std::uint32_t sm_count, std::uint32_t n,
                                   std::uint32_t k, const MeasuredTable* measured) {
    CUBIND_CHECK(validate_shape(descriptor, n, k));
    CUBIND_TRY(const Arch target, code_arch(arch));
    const auto& spec = *find_arch_spec(target);
    CUBIND_CHECK(check_served(descriptor, spec));
    if (sm_count == 0 || sm_count > kMaxSms) {
      return Error{ErrorCode::invalid_argument,
                   "sm_count \"" + std::to_string(sm_count) + "\" is not in [1, " + std::to_string(kMaxSms) + "]"};
    }
    LayerPlanner planner(spec);
    planner.sm_count_ = descriptor.determinism == Determinism::sm_count ? spec.nominal_sm_count : sm_count;
    planner.shape_ = {n, k, 0, descriptor.group_k};
    const auto catalogue = make_catalogue(descriptor, spec);
    for (const auto& config : catalogue) {
      const auto k_tiles = ceil_div(k, config.tile_k);
      planner.candidates_.push_back({config_cost(config, spec), first_m(catalogue, config), last_m(config), k_tiles});
    }
    if (measured != nullptr && measured->arch() == target && measured->sm_count() == planner.sm_count_) {
      planner.take(measured->plans(descriptor, n, k));
    }
    return planner;
  }

  // The plan of the next planned m: what was measured for it; else `previous`, if it is possible there and nearly the
  // fastest by the model; else the fastest, of equals the first in the catalogue with the fewest splits. No previous:
  // splits == 0.
  Plan choose(std::uint32_t m, const Plan& previous) const {
    GemmShape shape = shape_;
    shape.m = m;
    if (const Plan* measured = measured_at(m)) return *measured;
    Plan best;
    double best_us = std::numeric_limits<double>::infinity(), previous_us = best_us;
    for (const auto& candidate : candidates_) {
      const auto& config = candidate.cost.config;
      const auto tiles_m = ceil_div(m, config.tile_m);
      if (m < candidate.first_m || m > candidate.last_m || tiles_m > kMaxGridY) continue;
      const auto tiles = static_cast<std::uint64_t>(tiles_m) * ceil_div(shape.n, config.tile_n);
      const bool wgmma = config.kernel == GemmKernel::wgmma;
      const auto all = wgmma ? std::span<const std::uint32_t>(kWgmmaSplits) : std::span<const std::uint32_t>(kSplits);
      for (const auto splits : all) {
        if (splits > max_splits(tiles, candidate.k_tiles, config)) break;
        const auto per_split = ceil_div(candidate.k_tiles, splits);
        if ((splits - 1) * per_split >= candidate.k_tiles) continue;  // the last would have nothing to do
        const Plan plan{config, splits, per_split};
        const double us = estimate_us(candidate.cost, spec_, sm_count_, shape, splits, per_split);
        if (plan == previous) previous_us = us;
        if (us < best_us) {
          best_us = us;
          best = plan;
        }
      }
    }
    return previous_us <= kWorthASwitch * best_us ? previous : best;
  }

  // visit(m_first, m_last, plan) over [1, max_m], m by planned m. What is kept depends on what came before, so this is
  // the one way to a plan.
  template <class Visit>
  void walk(std::uint32_t max_m, Visit visit) const {
    Plan plan;
    plan.splits = 0;
    for (std::uint32_t m = 1; m <= max_m;) {
      const auto last = planned_m(m);
      plan = choose(last, plan);
      visit(m, std::min(last, max_m), plan);
      m = last + 1;
    }
  }

 private:
  struct Candidate {
    ConfigCost cost;
    std::uint32_t first_m, last_m;
    std::uint32_t k_tiles;
  };

  struct Measured {
    std::uint32_t m, first_m;
    Plan plan;
  };

  explicit LayerPlanner(const ArchSpec& spec) : spec_(spec) {}

  // Those whose config the catalogue has.
  void take(const std::vector<MeasuredPlan>& plans) {
    for (const auto& plan : plans) {
      for (const auto& candidate : candidates_) {
        if (config_name(candidate.cost.config) != plan.config) continue;
        const auto per_split = ceil_div(candidate.k_tiles, plan.splits);
        const auto& config = candidate.cost.config;
        const bool wgmma = config.kernel == GemmKernel::wgmma;
        if (wgmma && !cluster_exists(config.tile_m, config.tile_n, plan.splits)) continue;
        if (plan.splits > 1 && per_split < kMinKTilesPerSplit) continue;
        if ((plan.splits - 1) * per_split >= candidate.k_tiles) continue;
        measured_.push_back({plan.m, candidate.first_m, {candidate.cost.config, plan.splits, per_split}});
      }
    }
  }

  // Of the smallest measured m that is not below this one, if this one may have it, too.
  const Plan* measured_at(std::uint32_t m) const {
    const auto at = std::find_if(measured_.begin(), measured_.end(), [m](const auto& known) { return known.m >= m; });
    if (at == measured_.end()) return nullptr;
    const auto& [config, splits, per_split] = at->plan;
    const auto tiles_m = ceil_div(m, config.tile_m);
    const auto tiles = static_cast<std::uint64_t>(tiles_m) * ceil_div(shape_.n, config.tile_n);
    const bool possible = m >= at->first_m && tiles_m <= kMaxGridY && (splits == 1 || tiles <= kWorkspaceMaxTiles);
    return possible ? &at->plan : nullptr;
  }

  // Splits fill SMs that have no tile: none once every SM has two; with wgmma, all splits run at the same time, and of
  // clusters of four a tenth fewer fit than of single blocks.
  std::uint32_t max_splits(std::uint64_t tiles, std::uint32_t k_tiles, const GemmConfig& config) const {
    static_assert(2 * kMaxSms <= kWorkspaceMaxTiles);  // so what is split has its counters
    if (tiles >= 2ull * sm_count_) return 1;
    const auto most = std::max(k_tiles / kMinKTilesPerSplit, 1u);
    if (config.kernel != GemmKernel::wgmma) return most;
    if (!config.can_split() || tiles * 2 > sm_count_) return 1;
    return std::min(most, tiles * 44 > sm_count_ * 10 ? 2u : 4u);
  }

  const ArchSpec& spec_;
  std::uint32_t sm_count_ = 0;
  GemmShape shape_;
  std::vector<Candidate> candidates_;
  std::vector<Measured> measured_;  // ascending by m
};

Status check_m(std::string_view field, std::uint32_t m) {
  if (m >= 1 && m <= limits::kMaxM) return {};
  return Error{ErrorCode::invalid_argument, std::string(field) + " \"" + std::to_string(m) + "\" is not in [1, " +
                                                std::to_string(limits::kMaxM) + "]"};
}

}  // namespace

std::vector<Arch> code_archs() {
  std::vector<Arch> archs;
  for (const auto& spec : arch_specs()) archs.push_back(spec.arch);
  return archs;
}

Result<Arch> code_arch(Arch asked) {
  std::string targets;
  Arch best;
  for (const auto arch : code_archs()) {
    if (arch == asked) return arch;
    if (arch.suffix == '\0' && arch.major() == asked.major() && arch.number <= asked.number) best = arch;
    targets.append(targets.empty() ? "" : ", ").append(to_string(arch));
  }
  if (best.number != 0) return best;
  return Error{ErrorCode::not_supported,
               "arch \"" + to_string(asked) + "\" has no code, only " + targets + " and later minor versions of these"};
}

Result<std::vector<GemmConfig>> catalogue(const GemmDescriptor& descriptor, Arch arch) {
  CUBIND_CHECK(validate(descriptor));
  CUBIND_TRY(const Arch target, code_arch(arch));
  const auto& spec = *find_arch_spec(target);
  CUBIND_CHECK(check_served(descriptor, spec));
  return make_catalogue(descriptor, spec);
}

Result<std::vector<GemmConfig>> reachable(const GemmDescriptor& descriptor, Arch arch, std::uint32_t max_m) {
  CUBIND_CHECK(check_m("max_m", max_m));
  CUBIND_TRY(const auto all, catalogue(descriptor, arch));
  std::vector<GemmConfig> configs;
  for (const auto& config : all) {
    if (first_m(all, config) <= planned_m(max_m)) configs.push_back(config);
  }
  return configs;
}

Result<Plan> plan(const GemmDescriptor& descriptor, Arch arch, std::uint32_t sm_count, std::uint32_t n, std::uint32_t k,
                  std::uint32_t m) {
  CUBIND_CHECK(check_m("m", m));
  CUBIND_TRY(const Arch target, code_arch(arch));
  CUBIND_TRY(const auto planner,
             LayerPlanner::make(descriptor, arch, sm_count, n, k, measured_table(target, sm_count)));
  Plan at_m;
  planner.walk(m, [&at_m](std::uint32_t, std::uint32_t, const Plan& plan) { at_m = plan; });
  return at_m;
}

Result<LaunchTable> launch_table(const GemmDescriptor& descriptor, Arch arch, std::uint32_t sm_count, std::uint32_t n,
                                 std::uint32_t k, std::uint32_t max_m) {
  CUBIND_TRY(const Arch target, code_arch(arch));
  return launch_table(descriptor, arch, sm_count, n, k, max_m, measured_table(target, sm_count));
}

Result<LaunchTable> launch_table(const GemmDescriptor& descriptor, Arch arch, std::uint32_t sm_count, std::uint32_t n,
                                 std::uint32_t k, std::uint32_t max_m, const MeasuredTable* measured) {
  CUBIND_CHECK(check_m("max_m", max_m));
  CUBIND_TRY(const auto planner, LayerPlanner::make(descriptor, arch, sm_count, n, k, measured));
  LaunchTable table;
  Plan previous;
  previous.splits = 0;
  planner.walk(max_m, [&](std::uint32_t m_first, std::uint32_t m_last, const Plan& plan) {
    if (plan == previous) {
      table.intervals.back().m_last = m_last;
      return;
    }
    previous = plan;
    auto known = std::find(table.configs.begin(), table.configs.end(), plan.config);
    if (known == table.configs.end()) known = table.configs.insert(known, plan.config);
    table.intervals.push_back({m_first, m_last, static_cast<std::uint32_t>(known - table.configs.begin()), plan.splits,
                               plan.k_tiles_per_split});
  });
  return table;
}

std::string config_name(const GemmConfig& c) {
  const auto text = [](char letter, unsigned value) { return letter + std::to_string(value); };
  return std::string(short_spelling(c.kernel)) + text('m', c.tile_m) + text('n', c.tile_n) + text('k', c.tile_k) +
         text('s', c.stages) + text('w', c.warps_n) + text('x', c.warps_m) + text('x', c.warps_k);
}

Result<GemmConfig> config_from_name(const GemmDescriptor& descriptor, Arch arch, std::string_view name) {
  CUBIND_TRY(const auto all, catalogue(descriptor, arch));
  for (const auto& config : all) {
    if (config_name(config) == name) return config;
  }
  return Error{ErrorCode::not_found, "config \"" + std::string(name) + "\" is not one of " + config_names(all)};
}

}  // namespace cubind
