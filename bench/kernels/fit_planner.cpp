// fit_planner FILE.csv [--fit]: how good the planner's cost model is on measured times, and, with --fit, constants that
// make it better, as a row for codegen/plan/arch_spec.cpp.
//
// The file: a header line, then lines of
//   descriptor,arch,sm_count,n,k,m,config,splits,us       w4a16-bf16-g128,sm_90,132,4096,4096,1,m8n64k256s5w2x1x4,2,9.8
// with all configs and splits that were tried at a shape. One target a file.
//
// What is minimized is the regret: (time of the config that the model chooses) / (best measured time), averaged over
// the shapes in the logarithm, plus a little of the times' own error, which guides the search where the choice does not
// change.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
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
constexpr Term kTerms[] = {
    {"launch_us", &CostConstants::launch_us},
    {"block_us", &CostConstants::block_us},
    {"step_us", &CostConstants::step_us},
    {"latency_us", &CostConstants::latency_us},
    {"split_us", &CostConstants::split_us},
    {"dram_bytes_per_us", &CostConstants::dram_bytes_per_us},
    {"l2_bytes_per_us", &CostConstants::l2_bytes_per_us},
    {"smem_bytes_per_us", &CostConstants::smem_bytes_per_us},
    {"mma_per_us", &CostConstants::mma_per_us},
    {"unpack_per_us", &CostConstants::unpack_per_us},
    {"not_hidden", &CostConstants::not_hidden},
};
constexpr std::size_t kTermCount = std::size(kTerms);
using Point = std::vector<double>;  // logarithms of the constants, in the order of kTerms

struct Row {
  std::string shape;  // descriptor, sm_count, n, k, m: what the planner chooses for
  ConfigCost cost;
  std::uint32_t sm_count = 0;
  GemmShape gemm;
  std::uint32_t splits = 1, k_tiles_per_split = 1;
  double us = 0;
};

struct Measurements {
  ArchSpec spec;
  std::map<std::string, std::vector<Row>> by_shape;
};

struct Score {
  double regret = 0;  // mean of log(chosen / best)
  double worst = 0;   // largest chosen / best
  std::string worst_shape;
  double error = 0;  // root mean square of log(model / measured)
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
  Measurements all{*find_arch_spec(90), {}};
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    if (f.size() != 9) return Error{ErrorCode::invalid_argument, "line \"" + line + "\" does not have 9 fields"};
    CUBIND_TRY(const auto descriptor, descriptor_from_name(f[0]));
    CUBIND_TRY(const auto asked, arch_from_string(f[1]));
    CUBIND_TRY(const auto arch, code_arch(asked));
    CUBIND_TRY(const auto config, config_from_name(descriptor, arch, f[6]));
    all.spec = *find_arch_spec(arch.number);
    Row row;
    row.shape = f[0] + " sm_count " + f[2] + " n " + f[3] + " k " + f[4] + " m " + f[5];
    row.cost = config_cost(config, all.spec);
    CUBIND_TRY(row.sm_count, parse<std::uint32_t>("sm_count", f[2]));
    CUBIND_TRY(row.gemm.n, parse<std::uint32_t>("n", f[3]));
    CUBIND_TRY(row.gemm.k, parse<std::uint32_t>("k", f[4]));
    CUBIND_TRY(row.gemm.m, parse<std::uint32_t>("m", f[5]));
    CUBIND_TRY(row.splits, parse<std::uint32_t>("splits", f[7]));
    CUBIND_TRY(row.us, parse<double>("us", f[8]));
    row.gemm.group_k = descriptor.group_k;
    row.k_tiles_per_split = ceil_div(ceil_div(row.gemm.k, config.tile_k), row.splits);
    all.by_shape[row.shape].push_back(row);
  }
  return all;
}

Score score(const Measurements& all, const ArchSpec& spec) {
  Score s;
  std::size_t rows = 0;
  for (const auto& [shape, measured] : all.by_shape) {
    double best = INFINITY, chosen = 0, least = INFINITY;
    for (const auto& row : measured) {
      const double us = estimate_us(row.cost, spec, row.sm_count, row.gemm, row.splits, row.k_tiles_per_split);
      if (us < least) least = us, chosen = row.us;
      best = std::min(best, row.us);
      s.error += std::pow(std::log(us / row.us), 2);
      ++rows;
    }
    s.regret += std::log(chosen / best);
    if (chosen / best > s.worst) s.worst = chosen / best, s.worst_shape = shape;
  }
  s.regret /= static_cast<double>(std::max<std::size_t>(all.by_shape.size(), 1));
  s.error = std::sqrt(s.error / static_cast<double>(std::max<std::size_t>(rows, 1)));
  return s;
}

ArchSpec with(ArchSpec spec, const Point& point) {
  for (std::size_t i = 0; i < kTermCount; ++i) spec.cost.*kTerms[i].value = std::exp(point[i]);
  return spec;
}

double loss(const Measurements& all, const Point& point) {
  const auto s = score(all, with(all.spec, point));
  return s.regret + 0.05 * s.error + 0.01 * std::log(s.worst);
}

// Pattern search: one constant at a time up and down, halving the step when nothing helps. The regret is a step
// function of the constants, so there is no gradient to follow.
Point fit(const Measurements& all) {
  Point point;
  for (const auto& term : kTerms) point.push_back(std::log(all.spec.cost.*term.value));
  double best = loss(all, point);
  for (double step = 0.5; step > 0.01; step /= 2) {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < kTermCount; ++i) {
        for (const double direction : {step, -step}) {
          auto tried = point;
          tried[i] += direction;
          const double now = loss(all, tried);
          if (now < best - 1e-9) {
            best = now;
            point = tried;
            better = true;
          }
        }
      }
    }
  }
  return point;
}

void print(const char* what, const Score& s) {
  std::printf("%s: chosen / best %.4f (geometric mean), %.3f at worst (%s), model error %.3f (rms of logarithms)\n",
              what, std::exp(s.regret), s.worst, s.worst_shape.c_str(), s.error);
}

int run(const char* path, bool fitting) {
  const auto all = read(path);
  if (!all.ok()) {
    std::fprintf(stderr, "%s\n", to_string(all.error()).c_str());
    return 1;
  }
  print("now", score(*all, all->spec));
  if (!fitting) return 0;
  const auto spec = with(all->spec, fit(*all));
  print("fitted", score(*all, spec));
  for (const auto& term : kTerms) std::printf(".%s = %.4g,\n", term.name, spec.cost.*term.value);
  return 0;
}

}  // namespace
}  // namespace cubind

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || (argc == 3 && std::strcmp(argv[2], "--fit") != 0)) {
    std::fprintf(stderr, "usage: fit_planner FILE.csv [--fit]\n");
    return 2;
  }
  return cubind::run(argv[1], argc == 3);
}
