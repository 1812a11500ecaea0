// fit_planner FILE.csv [--fit | --hold-out | --choices]: how good the planner's cost model is on measured times.
//   --fit       constants that make it better, as a row for codegen/plan/arch_spec.cpp
//   --hold-out  how good such constants are on layers that they were not fitted to, each layer in its turn
//   --choices   what the model chooses at each shape, and what was best
//
// The file: lines that begin with # say where the times are from; then a header line, then lines of
//   descriptor,arch,sm_count,n,k,m,config,splits,us       w4a16-bf16-g128,sm_90,132,4096,4096,1,m8n64k256s5w2x1x4,2,9.8
// with all configs and splits that were tried at a shape. One target a file. Configs that are no longer in the
// catalogue are counted and left out.
//
// What is minimized is the regret: (time of the config that the model chooses) / (best measured time), in the logarithm
// and averaged over the shapes. As such it is a step function of the constants; so every config counts, with a weight
// that falls to 1/e when the model makes it kMargin slower than its favourite. That also keeps a choice from hanging on
// a difference that the model cannot resolve. Added is a little of the times' own error.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/device/prelude.cuh"
#include "codegen/plan/cost_model.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind {
namespace {

struct Term {
  const char* name;
  double CostConstants::*value;
};
// The bandwidths and the MMA rate are data sheet values: a fit to times cannot tell them from each other.
constexpr Term kTerms[] = {
    {"launch_us", &CostConstants::launch_us},
    {"block_us", &CostConstants::block_us},
    {"step_us", &CostConstants::step_us},
    {"warp_mma_us", &CostConstants::warp_mma_us},
    {"latency_us", &CostConstants::latency_us},
    {"split_us", &CostConstants::split_us},
    {"reduce_us", &CostConstants::reduce_us},
    {"partial_bytes_per_us", &CostConstants::partial_bytes_per_us},
    {"unpack_per_us", &CostConstants::unpack_per_us},
};
constexpr std::size_t kTermCount = std::size(kTerms);
constexpr double kMargin = 0.02;
constexpr double kErrorShare = 0.1;
constexpr int kAttempts = 6;
using Point = std::vector<double>;  // logarithms of the constants, in the order of kTerms

struct Row {
  ConfigCost cost;
  std::uint32_t sm_count = 0;
  GemmShape gemm;
  std::uint32_t splits = 1, k_tiles_per_split = 1;
  double us = 0;
};

struct Shape {        // what the planner chooses for
  std::string name;   // descriptor, sm_count, n, k, m
  std::string layer;  // without m
  std::vector<Row> rows;
  double best_us = INFINITY;
};

struct Measurements {
  ArchSpec spec;
  std::vector<Shape> shapes;
  std::size_t left_out = 0;  // rows
};

template <class Number>
Result<Number> parse(std::string_view field, const std::string& text) {
  Number number{};
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number > Number{}) return number;
  return Error{ErrorCode::invalid_argument, std::string(field) + " \"" + text + "\" is not a positive number"};
}

Result<Measurements> read(const char* path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::not_found, "file \"" + std::string(path) + "\" cannot be read"};
  Measurements all{*find_arch_spec({90, '\0'}), {}};
  std::map<std::string, std::size_t> known;
  bool header = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (std::exchange(header, false)) continue;
    std::istringstream fields(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    if (f.size() != 9) return Error{ErrorCode::invalid_argument, "line \"" + line + "\" does not have 9 fields"};
    CUBIND_TRY(const auto descriptor, descriptor_from_name(f[0]));
    CUBIND_TRY(const auto asked, arch_from_string(f[1]));
    CUBIND_TRY(const auto arch, code_arch(asked));
    const auto config = config_from_name(descriptor, arch, f[6]);
    if (!config.ok()) {
      ++all.left_out;
      continue;
    }
    all.spec = *find_arch_spec(arch);
    Row row;
    row.cost = config_cost(*config, all.spec);
    CUBIND_TRY(row.sm_count, parse<std::uint32_t>("sm_count", f[2]));
    CUBIND_TRY(row.gemm.n, parse<std::uint32_t>("n", f[3]));
    CUBIND_TRY(row.gemm.k, parse<std::uint32_t>("k", f[4]));
    CUBIND_TRY(row.gemm.m, parse<std::uint32_t>("m", f[5]));
    CUBIND_TRY(row.splits, parse<std::uint32_t>("splits", f[7]));
    CUBIND_TRY(row.us, parse<double>("us", f[8]));
    row.gemm.group_k = descriptor.group_k;
    row.k_tiles_per_split = ceil_div(ceil_div(row.gemm.k, config->tile_k), row.splits);
    const auto layer = f[0] + " sm_count " + f[2] + " n " + f[3] + " k " + f[4];
    const auto name = layer + " m " + f[5];
    const auto [at, added] = known.try_emplace(name, all.shapes.size());
    if (added) all.shapes.push_back({name, layer, {}, INFINITY});
    auto& shape = all.shapes[at->second];
    shape.rows.push_back(row);
    shape.best_us = std::min(shape.best_us, row.us);
  }
  return all;
}

double estimate_us(const Row& row, const ArchSpec& spec) {
  return estimate_us(row.cost, spec, row.sm_count, row.gemm, row.splits, row.k_tiles_per_split);
}

const Row& chosen(const Shape& shape, const ArchSpec& spec) {
  return *std::min_element(shape.rows.begin(), shape.rows.end(),
                           [&spec](const Row& a, const Row& b) { return estimate_us(a, spec) < estimate_us(b, spec); });
}

struct Score {
  std::vector<double> regrets;  // chosen / best, one for each shape
  double worst = 1;
  std::string worst_shape;

  void add(const Shape& shape, const ArchSpec& spec) {
    const double regret = chosen(shape, spec).us / shape.best_us;
    regrets.push_back(regret);
    if (regret > worst) worst = regret, worst_shape = shape.name;
  }

  void print(const std::string& what) {
    if (regrets.empty()) return;
    std::sort(regrets.begin(), regrets.end());
    double sum = 0;
    for (const double regret : regrets) sum += std::log(regret);
    const auto within = [this](double bound) {
      return std::upper_bound(regrets.begin(), regrets.end(), bound) - regrets.begin();
    };
    std::printf(
        "%s: chosen / best of %zu shapes %.4f (geometric mean), within 1.05 at %td, 1.10 at %td, 1.15 at %td, "
        "%.3f at worst (%s)\n",
        what.c_str(), regrets.size(), std::exp(sum / static_cast<double>(regrets.size())), within(1.05), within(1.10),
        within(1.15), worst, worst_shape.c_str());
  }
};

ArchSpec with(ArchSpec spec, const Point& point) {
  for (std::size_t i = 0; i < kTermCount; ++i) spec.cost.*kTerms[i].value = std::exp(point[i]);
  return spec;
}

double loss(const std::vector<const Shape*>& shapes, const ArchSpec& spec) {
  double total = 0;
  std::vector<double> log_us;
  for (const auto* shape : shapes) {
    log_us.clear();
    for (const auto& row : shape->rows) log_us.push_back(std::log(estimate_us(row, spec)));
    const double least = *std::min_element(log_us.begin(), log_us.end());
    double weights = 0, regret = 0, error_weights = 0, error = 0;
    for (std::size_t i = 0; i < log_us.size(); ++i) {
      const double log_regret = std::log(shape->rows[i].us / shape->best_us);
      const double weight = std::exp((least - log_us[i]) / kMargin);
      weights += weight;
      regret += weight * (log_regret + 3 * log_regret * log_regret);
      const double relevant = std::exp(-4 * log_regret);
      error_weights += relevant;
      error += relevant * std::pow(log_us[i] - std::log(shape->rows[i].us), 2);
    }
    total += regret / weights + kErrorShare * std::sqrt(error / error_weights);
  }
  return total / static_cast<double>(shapes.size());
}

// Pattern search: one constant at a time up and down, halving the step when nothing helps; again from points around the
// best one, since it stops in the nearest hollow.
ArchSpec fit(const std::vector<const Shape*>& shapes, const ArchSpec& first) {
  Point best;
  for (const auto& term : kTerms) best.push_back(std::log(first.cost.*term.value));
  double best_loss = loss(shapes, with(first, best));
  std::mt19937 random(1);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto point = best;
    if (attempt > 0) {
      for (auto& value : point) value += 0.3 * (static_cast<double>(random()) / 2147483648.0 - 1);
    }
    double now = loss(shapes, with(first, point));
    for (double step = 0.4; step > 0.01; step /= 2) {
      for (bool better = true; better;) {
        better = false;
        for (std::size_t i = 0; i < kTermCount; ++i) {
          for (const double direction : {step, -step}) {
            auto tried = point;
            tried[i] += direction;
            const double then = loss(shapes, with(first, tried));
            if (then < now - 1e-6) now = then, point = tried, better = true;
          }
        }
      }
    }
    if (now < best_loss) best_loss = now, best = point;
  }
  return with(first, best);
}

Score score(const std::vector<const Shape*>& shapes, const ArchSpec& spec) {
  Score s;
  for (const auto* shape : shapes) s.add(*shape, spec);
  return s;
}

void hold_out(const std::vector<const Shape*>& shapes, const ArchSpec& spec) {
  std::set<std::string> layers;
  for (const auto* shape : shapes) layers.insert(shape->layer);
  Score together;
  for (const auto& layer : layers) {
    std::vector<const Shape*> seen, unseen;
    for (const auto* shape : shapes) (shape->layer == layer ? unseen : seen).push_back(shape);
    const auto fitted = fit(seen, spec);
    score(unseen, fitted).print("held out " + layer);
    for (const auto* shape : unseen) together.add(*shape, fitted);
  }
  together.print("held out, all layers");
}

int run(const char* path, std::string_view option) {
  const auto all = read(path);
  if (!all.ok()) {
    std::fprintf(stderr, "%s\n", to_string(all.error()).c_str());
    return 1;
  }
  std::vector<const Shape*> shapes;
  for (const auto& shape : all->shapes) shapes.push_back(&shape);
  if (all->left_out > 0) std::printf("%zu rows left out: not in the catalogue\n", all->left_out);
  if (shapes.empty()) {
    std::fprintf(stderr, "file \"%s\" has no row of a config of the catalogue\n", path);
    return 1;
  }
  score(shapes, all->spec).print("now");
  if (option == "--fit") {
    const auto fitted = fit(shapes, all->spec);
    score(shapes, fitted).print("fitted");
    for (const auto& term : kTerms) std::printf(".%s = %.4g,\n", term.name, fitted.cost.*term.value);
  } else if (option == "--hold-out") {
    hold_out(shapes, all->spec);
  } else if (option == "--choices") {
    for (const auto* shape : shapes) {
      const auto& row = chosen(*shape, all->spec);
      const auto& best = *std::min_element(shape->rows.begin(), shape->rows.end(),
                                           [](const Row& a, const Row& b) { return a.us < b.us; });
      std::printf("%s: %s splits %u, %.2f us (model %.2f), best %s splits %u, %.2f us (model %.2f), %.3f\n",
                  shape->name.c_str(), config_name(row.cost.config).c_str(), row.splits, row.us,
                  estimate_us(row, all->spec), config_name(best.cost.config).c_str(), best.splits, best.us,
                  estimate_us(best, all->spec), row.us / best.us);
    }
  }
  return 0;
}

}  // namespace
}  // namespace cubind

int main(int argc, char** argv) {
  const std::string_view option = argc == 3 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (argc == 3 && option != "--fit" && option != "--hold-out" && option != "--choices")) {
    std::fprintf(stderr, "usage: fit_planner FILE.csv [--fit | --hold-out | --choices]\n");
    return 2;
  }
  return cubind::run(argv[1], option);
}
