// gpu_gemm [--small] [--only TEXT] [--dry-run]: every supported combination on the device, through the public library
// and a real daemon, against the reference in double precision. Each launch starts from poisoned output, each is done
// twice and must give the same bits, with and without bias, for tokens from 1 to 4096 and shapes even and uneven.
//
// --small takes small shapes and few tokens: what compute-sanitizer can run in a minute. --only takes the combinations
// whose name contains TEXT. Exit code 77 and a reason if there is nothing to run on.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "client/weights/reference.hpp"
#include "cubind/client.hpp"
#include "protocol/kernel_abi.hpp"
#include "tests/support/gpu/gemm_data.hpp"
#include "tests/support/gpu/gpu_daemon.hpp"

namespace cubind::test {
namespace {

namespace cb = cubind::api;

struct Shape {
  std::uint32_t n, k;
};
struct Run {
  std::vector<Shape> shapes;
  std::vector<std::uint32_t> tokens;
};
const Run kFull{
    {{4096, 4096}, {6144, 4096}, {28672, 4096}, {4096, 14336}, {640, 2048}, {2880, 2880}, {1056, 4160}, {1001, 1440}},
    {1, 2, 3, 7, 8, 16, 17, 33, 64, 100, 128, 257, 1024, 4096}};
const Run kSmall{{{640, 512}, {208, 2880}, {1001, 1440}}, {1, 3, 8, 17, 33, 64, 100, 130}};
constexpr std::uint32_t kExtraStride = 8;  // of out: a row's end must not be written past
constexpr std::uint32_t kExtraRows = 3;    // nor the last row

template <class T>
T must(cb::Result<T> result, const char* what) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s: %s\n", what, result.error().message().c_str());
  std::exit(1);
}

class Tester {
 public:
  Tester(const cb::Client& client, const Run& run) : client_(client), run_(run) {}

  void combination(const std::string& name) {
    const cubind_gemm gemm = must(cb::gemm(name), name.c_str());
    cubind_gemm with_bias = gemm;
    with_bias.bias = 1;
    std::vector<Shape> shapes;
    std::vector<cb::LayerDesc> descs;
    const std::uint32_t max_m = run_.tokens.back();
    for (const Shape& shape : run_.shapes) {
      if (gemm.group_k != 0 && shape.k % gemm.group_k != 0) continue;  // refused by the packing, tested elsewhere
      shapes.push_back(shape);
      descs.push_back(cb::layer(gemm, shape.n, shape.k, max_m));
      descs.push_back(cb::layer(with_bias, shape.n, shape.k, max_m));
    }
    const auto layers = must(client_.prepare(descs), name.c_str());
    worst_ = {};
    const int failed_before = failed_;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      layer(name, shapes[i], gemm, layers[2 * i], layers[2 * i + 1]);
    }
    std::printf("%-22s %zu shapes, worst %s%s\n", name.c_str(), shapes.size(), worst_.text().c_str(),
                failed_ == failed_before ? "" : "  FAILED");
    std::fflush(stdout);
    Judgement& worst = gemm.output == CUBIND_DTYPE_BF16 ? worst_bf16_ : worst_f16_;
    worst.relative = std::max(worst.relative, worst_.relative);
    worst.largest = std::max(worst.largest, worst_.largest);
  }

  // Lines as `scripts/bench.sh` prints them.
  void figures() const {
    if (dry_run()) {
      std::printf("dry run: %d launches, nothing was judged\n", launches_);
      return;
    }
    const auto line = [](const char* name, double value, double bound) {
      std::printf("{\"figure\": \"%s\", \"value\": %.3e, \"bound\": %g, \"holds\": %s, \"detail\": \"\"}\n", name,
                  value, bound, value <= bound ? "true" : "false");
    };
    line("gpu.error_bf16", worst_bf16_.relative, tolerance_of(DType::bf16));
    line("gpu.error_f16", worst_f16_.relative, tolerance_of(DType::f16));
    line("gpu.largest_error_bf16", worst_bf16_.largest, 8 * tolerance_of(DType::bf16));
    line("gpu.largest_error_f16", worst_f16_.largest, 8 * tolerance_of(DType::f16));
    std::printf(
        "{\"figure\": \"gpu.failed\", \"value\": %d, \"bound\": 0, \"holds\": %s, \"detail\": \"%d launches\"}\n",
        failed_, failed_ == 0 ? "true" : "false", launches_);
  }
  int failed() const { return failed_; }

 private:
  void fail(const std::string& where, const std::string& what) {
    ++failed_;
    std::printf("FAILED %s: %s\n", where.c_str(), what.c_str());
  }

  static GemmDescriptor descriptor_of(const cubind_gemm& gemm) {
    GemmDescriptor made;
    made.activation = made.output = made.weight_scale_type = static_cast<DType>(gemm.activation);
    made.weight_scale = static_cast<ScaleKind>(gemm.weight_scale);
    made.group_k = gemm.group_k;
    made.zero_point = static_cast<ZeroPointKind>(gemm.zero_point);
    return made;
  }

  void layer(const std::string& name, Shape shape, const cubind_gemm& gemm, const cb::Layer& plain,
             const cb::Layer& biased) {
    const GemmDescriptor descriptor = descriptor_of(gemm);
    const std::uint32_t max_m = run_.tokens.back();
    const std::uint64_t seed = (std::uint64_t{shape.n} << 32) + shape.k;
    const LayerWeights weights(descriptor, shape.n, shape.k, seed);
    const Activations x(descriptor.activation, max_m, shape.k, seed ^ 0xac71);
    const Reference reference(x, weights, descriptor.activation, max_m, shape.n, shape.k);
    check_packing(name, descriptor, shape, weights);

    const auto loaded_plain = must(plain.load(CUBIND_CURRENT_CONTEXT), name.c_str());
    const auto loaded_biased = must(biased.load(CUBIND_CURRENT_CONTEXT), name.c_str());
    const std::size_t workspace_bytes = plain.workspace_bytes();
    const Buffer workspace(std::max<std::size_t>(workspace_bytes, 256));
    workspace.fill(0xff);
    if (cb::Error error = cb::workspace_init(workspace.data(), workspace_bytes, nullptr)) {
      return fail(name, error.message());
    }

    auto args = cb::sized<cubind_launch_args>();
    args.ldx = x.ldx();
    args.ldo = shape.n + kExtraStride;
    args.x = x.data();
    args.weights = weights.packed();
    args.scales = weights.scales();
    args.zeros = weights.zeros();
    args.workspace = workspace.data();
    args.workspace_bytes = workspace_bytes;
    for (const std::uint32_t m : run_.tokens) {
      for (const bool bias : {false, true}) {
        const std::string where = name + " n " + std::to_string(shape.n) + " k " + std::to_string(shape.k) + " m " +
                                  std::to_string(m) + (bias ? " with bias" : "");
        const Buffer out(std::size_t{m + kExtraRows} * args.ldo * 2), again(out.bytes());
        args.m = m;
        args.bias = bias ? weights.bias() : nullptr;
        const cb::LoadedLayer& launcher = bias ? loaded_biased : loaded_plain;
        for (const Buffer* target : {&out, &again}) {
          target->fill(0xff);
          args.out = target->data();
          ++launches_;
          if (cb::Error error = launcher.launch(args)) return fail(where, error.message());
        }
        GPU(context_synchronize);
        const Judgement judged = reference.judge(out, args.ldo, m, args.bias);
        worst_.relative = std::max(worst_.relative, judged.relative);
        worst_.largest = std::max(worst_.largest, judged.largest);
        if (!judged.holds(tolerance_of(descriptor.output))) fail(where, judged.text());
        if (const auto differ = differing(out, again); differ != 0) {
          fail(where, std::to_string(differ) + " results differ between two launches");
        }
      }
    }
    if (workspace_bytes > 0) {
      const auto counters = workspace.read<std::uint32_t>(kWorkspaceCounterBytes / 4);
      if (std::any_of(counters.begin(), counters.end(), [](std::uint32_t counter) { return counter != 0; })) {
        fail(name, "the workspace's counters are not zero after the launches");
      }
    }
  }

  // The data was packed by the test's own kernel; the library's packing must give the same bytes. Small shapes only: it
  // is a check of one against the other, not of speed.
  void check_packing(const std::string& name, const GemmDescriptor& descriptor, Shape shape,
                     const LayerWeights& weights) {
    if (std::size_t{shape.n} * shape.k > 3'000'000 || dry_run()) return;
    const auto layout = packed_layout(descriptor, shape.n, shape.k);
    if (!layout) return fail(name, layout.error().message);
    PackedWeights packed;
    packed.weights = weights.packed_buffer().read<std::byte>(weights.packed_buffer().bytes());
    packed.scales = weights.scales_buffer().read<std::byte>(weights.scales_buffer().bytes());
    if (weights.zeros() != nullptr) {
      packed.zeros = weights.zeros_buffer().read<std::byte>(weights.zeros_buffer().bytes());
    }
    const auto dequantized = dequantize(*layout, packed.view());
    if (!dequantized) return fail(name, "packing: " + dequantized.error().message);
    const auto plain = weights.plain().read<float>(std::size_t{shape.n} * shape.k);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if ((*dequantized)[i] != static_cast<double>(plain[i])) {
        return fail(name, "packing: the library unpacks another value at " + std::to_string(i));
      }
    }
  }

  const cb::Client& client_;
  const Run& run_;
  Judgement worst_;
  Judgement worst_bf16_, worst_f16_;
  int failed_ = 0, launches_ = 0;
};

int run(const Run& shapes, const std::string& only) {
  if (const std::string reason = no_gpu_reason(); !reason.empty()) {
    std::printf("skipped: %s\n", reason.c_str());
    return kSkipped;
  }
  const auto daemon = gpu_daemon_socket();
  if (!daemon) {
    std::printf("skipped: %s\n", daemon.error().message.c_str());
    return kSkipped;
  }
  const PrimaryContext context;
  load_test_kernels();
  auto options = cb::sized<cubind_client_options>();
  options.socket = daemon->c_str();
  options.connect_deadline_ms = 30'000;
  options.name = "gpu_gemm";
  const cb::Client client = must(cb::Client::open(options), "client");
  Tester tester(client, shapes);
  for (const char* type : {"bf16", "f16"}) {
    for (const char* scales : {"g32", "g64", "g128", "ch"}) {
      for (const char* zero : {"", "-zp"}) {
        const std::string name = std::string("w4a16-") + type + "-" + scales + zero;
        if (name.find(only) != std::string::npos) tester.combination(name);
      }
    }
  }
  tester.figures();
  return tester.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cubind::test

int main(int argc, char** argv) {
  bool small = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) {
      small = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else if (std::strcmp(argv[i], "--dry-run") == 0) {
      cubind::test::dry_run() = true;
    } else {
      std::fprintf(stderr, "gpu_gemm: unknown argument \"%s\"; there are --small, --only TEXT and --dry-run\n",
                   argv[i]);
      return 2;
    }
  }
  return cubind::test::run(small ? cubind::test::kSmall : cubind::test::kFull, only);
}
