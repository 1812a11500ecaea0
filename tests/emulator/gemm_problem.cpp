#include "tests/emulator/gemm_problem.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>

#include "codegen/device/tile/smem_layout.cuh"
#include "tests/emulator/machine/float16.hpp"
#include "tests/emulator/packing.hpp"

namespace cubind::emulator {
namespace {

using Bits16 = std::uint16_t;

double to_double(DType type, Bits16 bits) {
  return type == DType::f16 ? f16_to_double(bits) : bf16_to_double(bits);
}
Bits16 to_bits(DType type, double value) {
  return static_cast<Bits16>(type == DType::f16 ? double_to_f16(value) : double_to_bf16(value));
}

// The operands as a checkpoint has them.
struct Operands {
  std::vector<Bits16> x;             // [m][k]
  std::vector<unsigned char> q;      // [n][k], as stored: 0 .. 15
  std::vector<Bits16> scales;        // [n][groups]
  std::vector<unsigned char> zeros;  // [n][groups]
  std::vector<Bits16> bias;          // [n]
  unsigned groups = 1;
};

Operands make_operands(const GemmConfig& config, const GemmShape& s) {
  std::mt19937_64 random(s.seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> nibble(0, 15), zero(1, 16);  // 16: a GPTQ zero point of 15, stored minus one
  std::uniform_real_distribution<double> scale(0.002, 0.03);
  Operands o;
  o.groups = s.group == 0 ? 1 : (s.k + s.group - 1) / s.group;
  for (std::size_t i = 0; i < std::size_t{s.m} * s.k; ++i) o.x.push_back(to_bits(config.activation, normal(random)));
  for (std::size_t i = 0; i < std::size_t{s.n} * s.k; ++i) o.q.push_back(static_cast<unsigned char>(nibble(random)));
  for (std::size_t i = 0; i < std::size_t{s.n} * o.groups; ++i) {
    o.scales.push_back(to_bits(config.activation, scale(random)));
    o.zeros.push_back(static_cast<unsigned char>(config.zero_points ? zero(random) : 8));
  }
  for (unsigned i = 0; i < s.n; ++i) o.bias.push_back(to_bits(config.activation, s.bias ? normal(random) : 0));
  return o;
}

struct Reference {
  std::vector<double> out;        // [m][n]
  std::vector<double> magnitude;  // [n]: the usual size of a row's results, since x is about 1
};

Reference multiply(const GemmConfig& config, const Operands& o, const GemmShape& s) {
  const unsigned group = s.group == 0 ? s.k : s.group;
  Reference result{std::vector<double>(std::size_t{s.m} * s.n), {}};
  std::vector<double> x, w(s.k);
  for (const Bits16 bits : o.x) x.push_back(to_double(config.activation, bits));
  for (unsigned row = 0; row < s.n; ++row) {
    for (unsigned k = 0; k < s.k; ++k) {
      const std::size_t g = std::size_t{row} * o.groups + k / group;
      w[k] = (o.q[std::size_t{row} * s.k + k] - o.zeros[g]) * to_double(config.activation, o.scales[g]);
    }
    const double bias = to_double(config.activation, o.bias[row]);
    double squares = bias * bias;
    for (const double weight : w) squares += weight * weight;
    result.magnitude.push_back(std::sqrt(squares));
    for (unsigned token = 0; token < s.m; ++token) {
      double sum = bias;
      for (unsigned k = 0; k < s.k; ++k) sum += x[std::size_t{token} * s.k + k] * w[k];
      result.out[std::size_t{token} * s.n + row] = sum;
    }
  }
  return result;
}

unsigned log2_of(unsigned power) {
  unsigned shift = 0;
  while (1u << shift < power) ++shift;
  return shift;
}

// Two bounds: the norm alone would hide a few wrong elements, the largest error alone a small bias of all. The norm's
// scatters where there are few elements.
void check_output(const GemmConfig& config, const GemmShape& s, const Bits16* out, unsigned ldo,
                  const Reference& expected) {
  const double tolerance = config.activation == DType::f16 ? 5e-4 : 3e-3;
  double squares = 0, error_squares = 0, largest = 0;
  for (unsigned token = 0; token < s.m; ++token) {
    for (unsigned row = 0; row < ldo; ++row) {
      if (token + 1 == s.m && row >= s.n) break;  // the last row ends with the tensor
      const Bits16 bits = out[std::size_t{token} * ldo + row];
      const auto where = [&] { return "out[" + std::to_string(token) + "][" + std::to_string(row) + "]: "; };
      if (row >= s.n) {
        if (bits != 0xffff) throw std::runtime_error(where() + "written between the rows");
        continue;
      }
      const double value = to_double(config.activation, bits);
      if (!std::isfinite(value)) throw std::runtime_error(where() + "not written, or computed from poison");
      const double reference = expected.out[std::size_t{token} * s.n + row], error = std::fabs(value - reference);
      squares += reference * reference;
      error_squares += error * error;
      largest = std::max(largest, error / expected.magnitude[row]);
    }
  }
  const double relative = std::sqrt(error_squares / squares), scatter = 3 / std::sqrt(double{1} * s.m * s.n);
  if (relative > tolerance * (1 + scatter) || largest > 8 * tolerance) {
    throw std::runtime_error("inaccurate: relative error " + std::to_string(relative) +
                             ", largest error of an element " + std::to_string(largest));
  }
}

}  // namespace

std::string to_string(const GemmShape& s) {
  return "m " + std::to_string(s.m) + ", n " + std::to_string(s.n) + ", k " + std::to_string(s.k) + ", group " +
         std::to_string(s.group) + (s.bias ? ", bias" : "") + ", splits " + std::to_string(s.splits) + ", ldx + " +
         std::to_string(s.ldx_extra) + ", ldo + " + std::to_string(s.ldo_extra) + ", seed " + std::to_string(s.seed);
}

namespace {

// As the launcher has them made (protocol/kernel_abi.hpp).
void encode_maps(MappedGemmParams& params, const GemmConfig& config) {
  const std::uint64_t units = (params.k + 63) / 64;
  const auto x = encode_tensor_map({.address = const_cast<void*>(params.x),
                                    .element_bytes = 2,
                                    .size = {params.k, params.m, 1},
                                    .stride = {std::uint64_t{params.ldx} * 2},
                                    .box = {64, config.tile_m, 1},
                                    .swizzle_bytes = 128});
  const auto weights = encode_tensor_map({.address = const_cast<void*>(params.weights),
                                          .element_bytes = 4,
                                          .rank = 3,
                                          .size = {128, units, (params.n + 15) / 16},
                                          .stride = {512, units * 512},
                                          .box = {128, config.tile_k / 64, config.tile_n / 16}});
  static_assert(sizeof x == sizeof params.x_map);
  std::memcpy(&params.x_map, &x, sizeof x);
  std::memcpy(&params.weights_map, &weights, sizeof weights);
}

}  // namespace

void check_gemm(const GemmConfig& config, void (*body)(const MappedGemmParams&), const GemmShape& s,
                Schedule schedule) {
  const Operands operands = make_operands(config, s);
  const unsigned panels = (s.n + 15) / 16, units = (s.k + 63) / 64, groups = operands.groups;
  const unsigned ldx = s.k + s.ldx_extra, ldo = s.n + s.ldo_extra;
  const unsigned k_tiles = (s.k + config.tile_k - 1) / config.tile_k;
  const bool mapped = config.kernel == GemmKernel::wgmma, clusters = mapped && config.can_split();
  Dim3 grid{(s.n + config.tile_n - 1) / config.tile_n, (s.m + config.tile_m - 1) / config.tile_m, s.splits};
  if (mapped) {
    const unsigned tiles = grid.x * grid.y;
    // Whole tiles: fewer blocks than tiles, so that some have several.
    grid = {s.splits > 1 ? tiles * s.splits : (tiles + 1) / 2, 1, 1};
  }

  GlobalMemory memory;
  const auto allocate = [&memory]<class T>(T*, const char* name, std::size_t count, bool writable) {
    return static_cast<T*>(memory.allocate(name, count * sizeof(T), writable));
  };
  Bits16* x = allocate(static_cast<Bits16*>(nullptr), "x", std::size_t{s.m - 1} * ldx + s.k, false);
  for (unsigned token = 0; token < s.m; ++token) {
    std::memcpy(x + std::size_t{token} * ldx, &operands.x[std::size_t{token} * s.k], s.k * 2);
  }
  auto* weights = allocate(static_cast<std::uint32_t*>(nullptr), "weights", std::size_t{panels} * units * 128, false);
  pack_weights(weights, operands.q, s.n, s.k);
  Bits16* scales = allocate(static_cast<Bits16*>(nullptr), "scales", std::size_t{panels} * groups * 16, false);
  pack_groups(scales, operands.scales, groups, s.n);
  unsigned char* zeros = nullptr;
  if (config.zero_points) {
    zeros = allocate(zeros, "zeros", std::size_t{panels} * groups * 16, false);
    pack_groups(zeros, operands.zeros, groups, s.n);
  }
  Bits16* bias = nullptr;
  if (s.bias) {
    bias = allocate(bias, "bias", s.n, false);
    std::memcpy(bias, operands.bias.data(), s.n * 2);
  }
  const std::size_t out_elements = std::size_t{s.m - 1} * ldo + s.n;
  Bits16* out = allocate(static_cast<Bits16*>(nullptr), "out", out_elements, true);
  const std::size_t workspace_size = workspace_bytes(config.tile_m, config.tile_n, s.splits, s.n, s.m);
  auto* workspace = static_cast<unsigned char*>(memory.allocate("workspace", workspace_size, true));
  if (workspace != nullptr) std::memset(workspace, 0, kWorkspaceCounterBytes);

  MappedGemmParams params{};
  static_cast<GemmParams&>(params) = {.x = x,
                                      .weights = weights,
                                      .scales = scales,
                                      .zeros = zeros,
                                      .bias = bias,
                                      .out = out,
                                      .workspace = workspace,
                                      .m = s.m,
                                      .n = s.n,
                                      .k = s.k,
                                      .ldx = ldx,
                                      .ldo = ldo,
                                      .k_groups = groups,
                                      .group_shift = s.group == 0 ? 31 : log2_of(s.group),
                                      .splits = s.splits,
                                      .k_tiles_per_split = (k_tiles + s.splits - 1) / s.splits};
  if (mapped) encode_maps(params, config);
  memory.mark_of_launch_before(x);
  const Reference expected = multiply(config, operands, s);
  for (unsigned launch = 0; launch < (s.splits > 1 ? 2 : 1); ++launch) {
    std::memset(out, 0xff, out_elements * 2);
    Machine machine(memory, schedule, s.seed + launch);
    // Kernels with maps may be launched while the launch before, which writes x, still runs.
    machine.launch({.grid = grid,
                    .threads = config.threads(),
                    .shared_bytes = smem_bytes(config),
                    .cluster = {clusters ? s.splits : 1, 1, 1},
                    .dependent = mapped},
                   [&] { body(params); });
    check_output(config, s, out, ldo, expected);
    for (unsigned i = 0; workspace != nullptr && i < kWorkspaceCounterBytes; ++i) {
      if (workspace[i] != 0) throw std::runtime_error("workspace: counters are not zero again");
    }
    // What the next launch finds in place of partial sums is nobody's business.
    if (workspace != nullptr) {
      std::memset(workspace + kWorkspaceCounterBytes, 0xff, workspace_size - kWorkspaceCounterBytes);
    }
  }
}

}  // namespace cubind::emulator
