// Every kernel of the catalogue against the product in double, over scale groups, bias, shapes, m, strides, splits and
// schedules. By default a pairwise choice: each pair of values of two factors occurs in some case. CUBIND_FULL=1: every
// kernel with every group, shape and m of the lists below, the rest varied.
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "codegen/plan/planner.hpp"
#include "tests/emulator/emulated_kernel.hpp"
#include "tests/emulator/gemm_problem.hpp"

namespace cubind::emulator {
namespace {

// n and k of the cases; k is a multiple of every group that is used with it, or the group is left out.
struct Size {
  unsigned n, k;
};
constexpr Size kSizes[] = {{1001, 1440}, {64, 256},  {176, 640}, {20, 1088},
                           {264, 1024},  {137, 320}, {40, 72},   {72, 2048}};
constexpr unsigned kGroups32[] = {32};
constexpr unsigned kGroups64[] = {64, 128, 256, 0};
constexpr unsigned kSplits[] = {1, 2, 3}, kClusters[] = {1, 2, 4};

// m around and above one tile of tokens: the first, uneven ones, a full tile, one more.
std::vector<unsigned> ms_of(const GemmConfig& config) {
  return {1, config.tile_m / 2 + 1, config.tile_m, config.tile_m + 1};
}

bool full() {
  const char* value = std::getenv("CUBIND_FULL");
  return value != nullptr && std::string_view(value) == "1";
}

std::span<const unsigned> groups_of(const GemmConfig& config) {
  return config.scale_class == ScaleClass::g32 ? std::span<const unsigned>(kGroups32)
                                               : std::span<const unsigned>(kGroups64);
}

// The levels of one case; each factor has its own number of levels.
struct Levels {
  std::size_t kernel, group, bias, size, m, splits, stride, schedule;
};
constexpr std::size_t kFactors = 8;
std::array<std::size_t, kFactors> as_array(const Levels& l) {
  return {l.kernel, l.group, l.bias, l.size, l.m, l.splits, l.stride, l.schedule};
}

class Matrix {
 public:
  Matrix() : kernels_(emulated_kernels()) {}

  const EmulatedKernel& kernel(std::size_t i) const { return kernels_[i]; }

  // The case's shape, or nothing if its size does not go with its group.
  bool shape(const Levels& l, GemmShape& s) const {
    const GemmConfig& config = kernels_[l.kernel].config;
    const auto groups = groups_of(config);
    const auto ms = ms_of(config);
    const Size size = kSizes[l.size];
    s = {.m = ms[l.m], .n = size.n, .k = size.k, .group = groups[l.group % groups.size()], .bias = l.bias != 0};
    if (s.group != 0 && s.k % s.group != 0) return false;
    const bool clusters = config.kernel == GemmKernel::wgmma;
    s.splits = clusters ? kClusters[l.splits] : kSplits[l.splits];
    if (clusters && s.splits > 1 && !config.can_split()) return false;
    const unsigned k_tiles = (s.k + config.tile_k - 1) / config.tile_k, each = (k_tiles + s.splits - 1) / s.splits;
    if ((s.splits - 1) * each >= k_tiles) return false;  // a split would have nothing to do: never planned
    s.ldx_extra = l.stride == 1 ? 8 : 0;
    s.ldo_extra = l.stride == 1 ? 3 : l.stride == 2 ? 8 : 0;
    s.seed = 1 + l.kernel * 131 + l.size * 17 + l.m;
    return true;
  }

  std::size_t kernels() const { return kernels_.size(); }

 private:
  std::vector<EmulatedKernel> kernels_;
};

constexpr std::size_t kLevels[kFactors] = {0, std::size(kGroups64), 2, std::size(kSizes),
                                           4, std::size(kSplits),   3, std::size(kSchedules)};

// Multiplications, padding included: about 2 ms a million.
std::uint64_t work_of(const GemmConfig& config, const GemmShape& s) {
  const auto round_up = [](std::uint64_t value, unsigned to) { return (value + to - 1) / to * to; };
  return round_up(s.m, config.tile_m) * round_up(s.n, config.tile_n) * round_up(s.k, config.tile_k);
}
constexpr std::uint64_t kMostWork = 100'000'000;

// A greedy pairwise cover: case after case, of a fixed number of random ones the one with the most new pairs. The pairs
// of the kernel with m, with schedule and so on are among them, so each kernel gets about as many cases as the largest
// factor has levels.
std::vector<Levels> pairwise(const Matrix& matrix) {
  std::mt19937_64 random(3);
  std::set<std::array<std::size_t, 4>> seen;
  std::vector<Levels> chosen;
  for (std::size_t kernel = 0; kernel < matrix.kernels(); ++kernel) {
    for (unsigned i = 0; i < 6; ++i) {
      Levels best{};
      std::size_t most = 0;
      for (unsigned attempt = 0; attempt < 40; ++attempt) {
        const auto pick = [&](std::size_t factor) { return random() % kLevels[factor]; };
        const Levels l{kernel, pick(1), pick(2), pick(3), pick(4), pick(5), pick(6), pick(7)};
        GemmShape shape;
        if (!matrix.shape(l, shape) || work_of(matrix.kernel(kernel).config, shape) > kMostWork) continue;
        const auto levels = as_array(l);
        std::size_t fresh = 0;
        for (std::size_t a = 0; a < kFactors; ++a) {
          for (std::size_t b = a + 1; b < kFactors; ++b) fresh += !seen.contains({a, b, levels[a], levels[b]});
        }
        if (fresh > most) {
          most = fresh;
          best = l;
        }
      }
      if (most == 0) break;
      const auto levels = as_array(best);
      for (std::size_t a = 0; a < kFactors; ++a) {
        for (std::size_t b = a + 1; b < kFactors; ++b) seen.insert({a, b, levels[a], levels[b]});
      }
      chosen.push_back(best);
    }
  }
  return chosen;
}

std::vector<Levels> all(const Matrix& matrix) {
  std::mt19937_64 random(3);
  std::vector<Levels> chosen;
  for (std::size_t kernel = 0; kernel < matrix.kernels(); ++kernel) {
    for (std::size_t group = 0; group < groups_of(matrix.kernel(kernel).config).size(); ++group) {
      for (std::size_t size = 0; size < kLevels[3]; ++size) {
        for (std::size_t m = 0; m < kLevels[4]; ++m) {
          Levels l{kernel,
                   group,
                   random() % kLevels[2],
                   size,
                   m,
                   random() % kLevels[5],
                   random() % kLevels[6],
                   random() % kLevels[7]};
          GemmShape unused;
          if (!matrix.shape(l, unused)) l.splits = 0;
          if (matrix.shape(l, unused)) chosen.push_back(l);
        }
      }
    }
  }
  return chosen;
}

TEST(CatalogueMatrix, AgreesWithDouble) {
  const Matrix matrix;
  const auto cases = full() ? all(matrix) : pairwise(matrix);
  for (const Levels& l : cases) {
    GemmShape shape;
    ASSERT_TRUE(matrix.shape(l, shape));
    const EmulatedKernel& kernel = matrix.kernel(l.kernel);
    const Schedule schedule = kSchedules[l.schedule];
    try {
      check_gemm(kernel.config, kernel.body, shape, schedule);
    } catch (const std::exception& error) {
      ADD_FAILURE() << config_name(kernel.config) << (kernel.config.activation == DType::f16 ? " f16" : " bf16")
                    << (kernel.config.zero_points ? " zero points" : "") << ", " << to_string(shape) << ", schedule "
                    << name_of(schedule) << ": " << error.what();
    }
  }
  RecordProperty("cases", static_cast<int>(cases.size()));
  std::printf("%zu cases, %zu kernels\n", cases.size(), matrix.kernels());
}

// What the planner may name is what is emulated.
TEST(CatalogueMatrix, HasEveryConfigOfTheCatalogue) {
  const auto kernels = emulated_kernels();
  std::size_t found = 0;
  for (const Arch arch : code_archs()) {
    for (const DType activation : {DType::f16, DType::bf16}) {
      for (const ZeroPointKind zero_point : {ZeroPointKind::none, ZeroPointKind::integer}) {
        for (const std::uint32_t group : {32u, 64u, 128u, 0u}) {
          GemmDescriptor descriptor;
          descriptor.activation = descriptor.output = descriptor.weight_scale_type = activation;
          descriptor.weight = DType::int4;
          descriptor.zero_point = zero_point;
          descriptor.weight_scale = group == 0 ? ScaleKind::channel : ScaleKind::group;
          descriptor.group_k = group;
          const auto configs = catalogue(descriptor, arch);
          if (!configs.ok()) continue;  // bf16 on sm_75
          for (const GemmConfig& config : configs.value()) {
            const bool emulated = std::any_of(kernels.begin(), kernels.end(),
                                              [&](const EmulatedKernel& kernel) { return kernel.config == config; });
            EXPECT_TRUE(emulated) << config_name(config) << " on " << to_string(arch);
            ++found;
          }
        }
      }
    }
  }
  EXPECT_GT(found, 500u);
}

}  // namespace
}  // namespace cubind::emulator
