#include "tests/support/gpu/gemm_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "client/driver/device.hpp"
#include "tests/support/gpu/nvrtc_source.hpp"

namespace cubind::test {

extern const char kTestKernelsSource[];  // made from test_kernels.cu at build time

namespace {

struct TestKernels {
  cuda::Function fill_x, fill_bias, plain_weights, packed_weights, packed_scales, reference, compare, differing;
};

// One set for each context would be needed for several; data is made in the primary context only.
const TestKernels& kernels() {
  static const TestKernels loaded = [] {
    const auto device = cuda::current_device(gpu());
    const auto target = device ? cuda::device_target(gpu(), *device) : Result<cuda::DeviceTarget>(device.error());
    const auto cubin = target ? compile_cuda(kTestKernelsSource, target->arch) : Result<Bytes>(target.error());
    if (!cubin) {
      std::fprintf(stderr, "%s\n", to_string(cubin.error()).c_str());
      std::exit(1);
    }
    cuda::Library library = nullptr;
    GPU(library_load_data, &library, cubin->data(), nullptr, nullptr, 0u, nullptr, nullptr, 0u);
    const auto function = [&](const char* name) {
      cuda::Kernel kernel = nullptr;
      cuda::Function made = nullptr;
      GPU(library_get_kernel, &kernel, library, name);
      GPU(kernel_get_function, &made, kernel);
      return made;
    };
    return TestKernels{function("fill_x"),         function("fill_bias"),     function("plain_weights"),
                       function("packed_weights"), function("packed_scales"), function("reference"),
                       function("compare"),        function("differing")};
  }();
  return loaded;
}

template <class... Args>
void launch(cuda::Function function, unsigned grid_x, unsigned grid_y, Args... args) {
  void* pointers[] = {&args...};
  GPU(launch_kernel, function, grid_x, grid_y, 1u, 256u, 1u, 1u, 0u, nullptr, pointers, nullptr);
}

unsigned blocks_for(std::size_t elements) {
  return static_cast<unsigned>(std::clamp<std::size_t>((elements + 255) / 256, 1, 8192));
}

// test_kernels.cu's struct.
struct WeightsArgument {
  std::uint64_t seed;
  std::uint32_t n, k, group_k, k_groups;
  int zero_points, bf16;
};
struct Comparison {
  double difference2 = 0, reference2 = 0;
  std::uint64_t largest_bits = 0, not_finite = 0, outside = 0;
};

int is_bf16(DType type) {
  return type == DType::bf16 ? 1 : 0;
}

}  // namespace

LayerWeights::LayerWeights(const GemmDescriptor& descriptor, std::uint32_t n, std::uint32_t k, std::uint64_t seed,
                           bool with_plain) {
  WeightsArgument of{};
  of.seed = seed;
  of.n = n;
  of.k = k;
  of.group_k = descriptor.weight_scale == ScaleKind::group ? descriptor.group_k : k;
  of.k_groups = (k + of.group_k - 1) / of.group_k;
  of.zero_points = descriptor.zero_point != ZeroPointKind::none;
  of.bf16 = is_bf16(descriptor.activation);
  const std::size_t tiles = (n + 15) / 16, words = tiles * ((k + 63) / 64) * 128, pairs = tiles * of.k_groups * 16;
  packed_ = Buffer(words * 4);
  scales_ = Buffer(pairs * 2);
  if (of.zero_points) zeros_ = Buffer(pairs);
  bias_ = Buffer(std::size_t{n} * 2);
  launch(kernels().packed_weights, blocks_for(words), 1, packed_.get(), of);
  launch(kernels().packed_scales, blocks_for(pairs), 1, scales_.get(), zeros_.get(), of);
  launch(kernels().fill_bias, blocks_for(n), 1, bias_.get(), n, seed ^ 0xb1a5, of.bf16);
  if (with_plain) {
    plain_ = Buffer(std::size_t{n} * k * 4);
    launch(kernels().plain_weights, blocks_for(std::size_t{n} * k), 1, plain_.get(), of);
  }
}

Activations::Activations(DType type, std::uint32_t rows, std::uint32_t k, std::uint64_t seed, std::uint32_t padding)
    : buffer_(std::size_t{rows} * (k + padding) * 2), ldx_(k + padding) {
  launch(kernels().fill_x, blocks_for(std::size_t{rows} * ldx_), 1, buffer_.get(), rows, k, ldx_, seed, is_bf16(type));
}

std::string Judgement::text() const {
  char line[200];
  std::snprintf(line, sizeof line, "relative %.2e, largest %.2e rms, %llu not finite, %llu outside", relative, largest,
                static_cast<unsigned long long>(not_finite), static_cast<unsigned long long>(outside));
  return line;
}

double tolerance_of(DType output) {
  return output == DType::bf16 ? 2.5e-3 : 4e-4;
}

Reference::Reference(const Activations& x, const LayerWeights& weights, DType type, std::uint32_t rows, std::uint32_t n,
                     std::uint32_t k)
    : y_(std::size_t{rows} * n * 8), type_(type), n_(n) {
  launch(kernels().reference, (n + 127) / 128, (rows + 63) / 64, reinterpret_cast<cuda::DevicePtr>(x.data()), x.ldx(),
         weights.plain().get(), y_.get(), rows, n, k, is_bf16(type));
}

Judgement Reference::judge(const Buffer& out, std::uint32_t ldo, std::uint32_t m, const void* bias) const {
  const Buffer result(sizeof(Comparison));
  result.fill(0);
  const std::uint64_t elements = out.bytes() / 2;
  launch(kernels().compare, blocks_for(elements), 1, out.get(), elements, ldo, y_.get(),
         reinterpret_cast<cuda::DevicePtr>(bias), m, n_, is_bf16(type_), result.get());
  if (dry_run()) return {};
  const Comparison sums = result.read<Comparison>(1)[0];
  Judgement judged;
  judged.relative = std::sqrt(sums.difference2 / sums.reference2);
  judged.largest =
      std::bit_cast<double>(sums.largest_bits) / std::sqrt(sums.reference2 / (static_cast<double>(m) * n_));
  judged.not_finite = sums.not_finite;
  judged.outside = sums.outside;
  return judged;
}

std::uint64_t differing(const Buffer& a, const Buffer& b) {
  const Buffer count(8);
  count.fill(0);
  const std::uint64_t elements = std::min(a.bytes(), b.bytes()) / 2;
  launch(kernels().differing, blocks_for(elements), 1, a.get(), b.get(), elements, count.get());
  return dry_run() ? 0 : count.read<std::uint64_t>(1)[0];
}

void load_test_kernels() {
  kernels();
}

}  // namespace cubind::test
