// layer_bench [--format NAME] [--shapes NxK,...] [--tokens M,...] [--json] [--dry-run]
//
// Prepares a model's layers through a daemon (default: Llama-3.1-8B, AWQ int4 g128), loads them, checks the numbers of
// each at each m against the reference in double precision, and prints microseconds a layer beside cuBLAS with 16-bit
// weights, if cuBLAS is there. --json prints figures as scripts/bench.sh does. Exit code 1 if a number is wrong.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/kernels/bench_arguments.hpp"
#include "bench/kernels/cublas.hpp"
#include "bench/kernels/rotated_weights.hpp"
#include "client/client.hpp"
#include "client/driver/device.hpp"
#include "client/layer.hpp"
#include "client/loaded_layer.hpp"
#include "tests/support/gpu/gpu_daemon.hpp"

namespace cubind::bench {
namespace {

struct Arguments {
  std::string format = "w4a16-bf16-g128-zp";
  std::vector<LayerShape> shapes{{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}};
  std::vector<std::uint32_t> tokens{1, 8, 16, 32, 64, 128, 256, 1024, 4096};
  bool json = false;
};

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--dry-run") {
      test::dry_run() = true;
    } else if (name == "--json") {
      arguments.json = true;
    } else if (i + 1 == argc) {
      return Error{ErrorCode::invalid_argument, "argument \"" + name + "\" is unknown or lacks a value"};
    } else if (name == "--format") {
      arguments.format = argv[++i];
    } else if (name == "--shapes") {
      CUBIND_TRY(arguments.shapes, parse_shapes(argv[++i]));
    } else if (name == "--tokens") {
      CUBIND_TRY(arguments.tokens, parse_tokens(argv[++i]));
    } else {
      return Error{ErrorCode::invalid_argument, "argument \"" + name + "\" is unknown"};
    }
  }
  std::sort(arguments.tokens.begin(), arguments.tokens.end());
  return arguments;
}

// Copies of 16-bit weights for cuBLAS. Their values do not matter for the time, that they are random does: x's.
class Rotated16Bit {
 public:
  Rotated16Bit(DType type, LayerShape shape) {
    const std::size_t copies = copies_for(std::size_t{shape.n} * shape.k * 2);
    for (std::size_t i = 0; i < copies; ++i) copies_.emplace_back(type, shape.n, shape.k, i, 0);
  }
  std::size_t copies() const { return copies_.size(); }
  const void* at(std::size_t index) const { return copies_[index].data(); }

 private:
  std::vector<test::Activations> copies_;
};

class Bench {
 public:
  Bench(const GemmDescriptor& descriptor, const Arguments& arguments)
      : descriptor_(descriptor), arguments_(arguments), cublas_(Cublas::open()) {
    if (!arguments_.json) {
      std::printf("%-14s %6s %10s %10s %8s   %s\n", "layer", "m", "us", cublas_ ? "cublas us" : "no cublas", "ratio",
                  "||out - ref|| / ||ref||");
    }
  }

  Status layer(const PreparedLayer& prepared) {
    const LayerShape shape{prepared.spec.n, prepared.spec.k};
    const std::uint32_t max_m = arguments_.tokens.back();
    const test::LayerWeights weights(descriptor_, shape.n, shape.k, shape.n + shape.k);
    const test::Activations x(descriptor_.activation, max_m, shape.k, shape.k);
    const test::Reference reference(x, weights, descriptor_.activation, max_m, shape.n, shape.k);
    const RotatedWeights rotated(weights);
    const Rotated16Bit rotated16(descriptor_.activation, shape);
    const test::Buffer workspace(prepared.workspace_bytes(0) + 256);
    workspace.fill(0);
    CUBIND_TRY(const auto loaded, LoadedLayer::load(test::gpu(), prepared, nullptr));
    for (const std::uint32_t m : arguments_.tokens) {
      const test::Buffer out(std::size_t{m} * shape.n * 2);
      LaunchArgs args;
      args.m = m;
      args.ldx = x.ldx();
      args.ldo = shape.n;
      args.x = x.data();
      args.out = out.data();
      args.workspace = workspace.data();
      args.workspace_bytes = workspace.bytes();
      args.stream = stream_.get();
      rotated.use(0, args);
      out.fill(0xff);
      GPU(context_synchronize);
      CUBIND_CHECK(loaded->launch(args));
      stream_.synchronize();
      const test::Judgement judged = reference.judge(out, shape.n, m, nullptr);
      Status launched;
      const double us = microseconds(stream_, rotated.copies(), 1e30, [&](std::size_t copy) {
        rotated.use(copy, args);
        if (Status status = loaded->launch(args); !status) launched = status;
      });
      CUBIND_CHECK(launched);
      report(shape, m, us, cublas_us(rotated16, x, out, shape, m), judged);
    }
    return {};
  }
  bool wrong() const { return wrong_; }

 private:
  // 0 if there is no cuBLAS or it refuses.
  double cublas_us(const Rotated16Bit& weights, const test::Activations& x, const test::Buffer& out, LayerShape shape,
                   std::uint32_t m) const {
    if (cublas_ == nullptr) return 0;
    // Outside a capture first: cuBLAS loads its kernels and its workspace then.
    bool good = cublas_->multiply(stream_.get(), descriptor_.activation, x.data(), x.ldx(), weights.at(0), out.data(),
                                  m, shape.n, shape.k);
    stream_.synchronize();
    if (!good) return 0;
    const double us = microseconds(stream_, weights.copies(), 1e30, [&](std::size_t copy) {
      good = good && cublas_->multiply(stream_.get(), descriptor_.activation, x.data(), x.ldx(), weights.at(copy),
                                       out.data(), m, shape.n, shape.k);
    });
    return good ? us : 0;
  }

  void report(LayerShape shape, std::uint32_t m, double us, double cublas, const test::Judgement& judged) {
    const bool holds = judged.holds(test::tolerance_of(descriptor_.output));
    wrong_ |= !holds;
    const std::string name = std::to_string(shape.n) + "x" + std::to_string(shape.k);
    if (arguments_.json) {
      std::printf(
          "{\"figure\": \"gpu.layer_us.%s.m%u\", \"value\": %.2f, \"bound\": null, \"holds\": %s, \"detail\": "
          "\"cublas %.2f us, error %.2e\"}\n",
          name.c_str(), m, us, holds ? "true" : "false", cublas, judged.relative);
    } else {
      char ratio[16] = "";
      if (cublas > 0) std::snprintf(ratio, sizeof ratio, "%.2f", cublas / us);
      std::printf("%-14s %6u %10.2f %10.2f %8s   %.2e%s\n", name.c_str(), m, us, cublas, ratio, judged.relative,
                  holds ? "" : "  WRONG");
    }
    std::fflush(stdout);
  }

  const GemmDescriptor& descriptor_;
  const Arguments& arguments_;
  std::unique_ptr<Cublas> cublas_;
  test::Stream stream_;
  bool wrong_ = false;
};

Result<bool> run(const Arguments& arguments) {
  CUBIND_TRY(const GemmDescriptor descriptor, descriptor_from_name(arguments.format));
  CUBIND_TRY(const std::string socket, test::gpu_daemon_socket());
  ClientOptions options;
  options.socket_path = socket;
  options.name = "layer_bench";
  options.connect_deadline = std::chrono::seconds(30);
  CUBIND_TRY(const auto client, Client::open(options));
  const test::PrimaryContext context;
  CUBIND_TRY(const cuda::DeviceTarget device, cuda::device_target(test::gpu(), 0));
  PrepareOptions prepare;
  prepare.arch = device.arch;
  prepare.sm_count = device.sm_count;
  std::vector<LayerSpec> specs;
  for (const LayerShape& shape : arguments.shapes) {
    specs.push_back({descriptor, shape.n, shape.k, arguments.tokens.back()});
  }
  KernelCache cache;
  CUBIND_TRY(const auto layers, prepare_layers(*client, cache, specs, prepare));
  Bench bench(descriptor, arguments);
  for (const auto& layer : layers) CUBIND_CHECK(bench.layer(*layer));
  return !bench.wrong();
}

}  // namespace
}  // namespace cubind::bench

int main(int argc, char** argv) {
  const auto arguments = cubind::bench::parse(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "layer_bench: %s\n", to_string(arguments.error()).c_str());
    return 2;
  }
  if (const std::string reason = cubind::test::no_gpu_reason(); !reason.empty()) {
    std::fprintf(stderr, "skipped: %s\n", reason.c_str());
    return cubind::test::kSkipped;
  }
  const auto right = cubind::bench::run(*arguments);
  if (!right) {
    std::fprintf(stderr, "layer_bench: %s\n", to_string(right.error()).c_str());
    return 1;
  }
  return *right ? 0 : 1;
}
