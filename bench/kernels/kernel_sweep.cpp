// kernel_sweep [--format NAME] [--shapes NxK,...] [--tokens M,...] [--csv FILE] [--dry-run]
//
// Times every kernel of a format's catalogue at every number of splits that may be of use, for each shape and m: what
// the planner's constants are made from. One JSON line for each on standard output, {n, k, m, config, splits, us,
// planned}; --csv writes the same as fit_planner reads it. A last line says how much slower the planner's choices are
// than the best that was measured. Kernels come from a daemon, as whole_catalogue gives them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/kernels/bench_arguments.hpp"
#include "bench/kernels/rotated_weights.hpp"
#include "client/loaded_layer.hpp"
#include "tests/support/gpu/gpu_daemon.hpp"
#include "tests/support/gpu/whole_catalogue.hpp"

namespace cubind::bench {
namespace {

constexpr std::uint32_t kMaxSplits = 16;
constexpr double kGiveUpRatio = 3;  // slower than this times the best so far: not timed again

struct Arguments {
  std::string format = "w4a16-bf16-g128";
  std::vector<LayerShape> shapes{{4096, 4096}, {6144, 4096}, {28672, 4096}, {4096, 14336},
                                 {640, 2048},  {2880, 2880}, {1056, 4160}};
  std::vector<std::uint32_t> tokens{1, 2, 4, 8, 16, 17, 32, 33, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096};
  std::string csv;
};

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--dry-run") {
      test::dry_run() = true;
      continue;
    }
    if (i + 1 == argc)
      return Error{ErrorCode::invalid_argument, "argument \"" + name + "\" is unknown or lacks a value"};
    const std::string value = argv[++i];
    if (name == "--format") {
      arguments.format = value;
    } else if (name == "--csv") {
      arguments.csv = value;
    } else if (name == "--shapes") {
      CUBIND_TRY(arguments.shapes, parse_shapes(value));
    } else if (name == "--tokens") {
      CUBIND_TRY(arguments.tokens, parse_tokens(value));
    } else {
      return Error{ErrorCode::invalid_argument, "argument \"" + name + "\" is unknown"};
    }
  }
  std::sort(arguments.tokens.begin(), arguments.tokens.end());
  return arguments;
}

class Sweep {
 public:
  Sweep(const GemmDescriptor& descriptor, const Arguments& arguments, const cuda::DeviceTarget& device,
        const test::WholeCatalogue& catalogue, std::FILE* csv)
      : descriptor_(descriptor), arguments_(arguments), device_(device), catalogue_(catalogue), csv_(csv) {}

  Status shape(std::size_t index) {
    const LayerShape shape = arguments_.shapes[index];
    const std::uint32_t max_m = arguments_.tokens.back();
    const test::LayerWeights weights(descriptor_, shape.n, shape.k, shape.n + shape.k, false);
    const RotatedWeights rotated(weights);
    const test::Activations x(descriptor_.activation, max_m, shape.k, shape.k);
    const test::Buffer out(std::size_t{max_m} * shape.n * 2);
    GPU(context_synchronize);
    for (const std::uint32_t m : arguments_.tokens) {
      best_ = 1e30;
      planned_ = 0;
      for (const PreparedKernelPtr& kernel : catalogue_.kernels) {
        for (const std::uint32_t splits : splits_of(kernel->info, shape, m)) {
          LaunchArgs args;
          args.m = m;
          args.ldx = x.ldx();
          args.ldo = shape.n;
          args.x = x.data();
          args.out = out.data();
          CUBIND_CHECK(time(kernel, splits, index, rotated, args));
        }
      }
      if (planned_ > 0) regrets_.push_back(planned_ / best_);
    }
    return {};
  }

  void summary() const {
    if (regrets_.empty()) return;
    double log_sum = 0, worst = 0;
    for (const double regret : regrets_) {
      log_sum += std::log(regret);
      worst = std::max(worst, regret);
    }
    std::printf("{\"planner_regret_mean\": %.4f, \"planner_regret_worst\": %.4f, \"points\": %zu}\n",
                std::exp(log_sum / static_cast<double>(regrets_.size())), worst, regrets_.size());
  }

 private:
  // Numbers of splits without an empty one, while blocks are few enough for more to help.
  std::vector<std::uint32_t> splits_of(const KernelInfo& info, LayerShape shape, std::uint32_t m) const {
    const std::uint64_t tiles =
        std::uint64_t{(m + info.tile_m - 1) / info.tile_m} * ((shape.n + info.tile_n - 1) / info.tile_n);
    const std::uint32_t k_tiles = (shape.k + info.tile_k - 1) / info.tile_k;
    std::vector<std::uint32_t> splits{1};
    std::uint32_t per_split = k_tiles;
    for (std::uint32_t s = 2; s <= kMaxSplits && tiles < 2ull * device_.sm_count && tiles <= kWorkspaceMaxTiles; ++s) {
      const std::uint32_t next = (k_tiles + s - 1) / s;
      if (next == per_split) continue;
      per_split = next;
      const std::uint32_t parts = (k_tiles + next - 1) / next;
      if (test::can_split(info, parts)) splits.push_back(parts);
    }
    return splits;
  }

  Status time(const PreparedKernelPtr& kernel, std::uint32_t splits, std::size_t index, const RotatedWeights& rotated,
              LaunchArgs args) {
    const LayerShape shape = arguments_.shapes[index];
    const auto one = test::single_kernel_layer({descriptor_, shape.n, shape.k, args.m}, kernel, splits);
    CUBIND_TRY(const auto loaded, LoadedLayer::load(test::gpu(), one, nullptr));
    args.workspace_bytes = one.workspace_bytes(args.m);
    const test::Buffer workspace(args.workspace_bytes + 256);
    workspace.fill(0);
    GPU(context_synchronize);
    args.workspace = workspace.data();
    args.stream = stream_.get();
    Status launched;
    const double us = microseconds(stream_, rotated.copies(), kGiveUpRatio * best_, [&](std::size_t copy) {
      rotated.use(copy, args);
      if (Status status = loaded->launch(args); !status) launched = status;
    });
    CUBIND_CHECK(launched);
    report(*kernel, splits, index, args.m, us);
    return {};
  }

  void report(const PreparedKernel& kernel, std::uint32_t splits, std::size_t index, std::uint32_t m, double us) {
    const LayerShape shape = arguments_.shapes[index];
    bool planned = false;
    for (const TableReply& table : catalogue_.tables) {
      if (table.layer != index) continue;
      for (const LaunchRow& row : table.rows) {
        planned |=
            row.m_first <= m && m <= row.m_last && row.splits == splits && table.kernels[row.kernel] == kernel.key;
      }
    }
    best_ = std::min(best_, us);
    if (planned) planned_ = us;
    const std::string config = test::config_of(kernel);
    std::printf(
        "{\"n\": %u, \"k\": %u, \"m\": %u, \"config\": \"%s\", \"splits\": %u, \"us\": %.3f, \"planned\": %s}\n",
        shape.n, shape.k, m, config.c_str(), splits, us, planned ? "true" : "false");
    if (csv_ != nullptr) {
      std::fprintf(csv_, "%s,%s,%u,%u,%u,%u,%s,%u,%.3f\n", arguments_.format.c_str(), to_string(device_.arch).c_str(),
                   device_.sm_count, shape.n, shape.k, m, config.c_str(), splits, us);
    }
  }

  const GemmDescriptor& descriptor_;
  const Arguments& arguments_;
  const cuda::DeviceTarget& device_;
  const test::WholeCatalogue& catalogue_;
  std::FILE* csv_;
  test::Stream stream_;
  double best_ = 0, planned_ = 0;
  std::vector<double> regrets_;
};

Status run(Arguments arguments) {
  CUBIND_TRY(const GemmDescriptor descriptor, descriptor_from_name(arguments.format));
  std::erase_if(arguments.shapes, [&](const LayerShape& shape) {  // what the packing refuses has no time
    return !validate_shape(descriptor, shape.n, shape.k).ok();
  });
  if (arguments.shapes.empty())
    return Error{ErrorCode::invalid_argument, "no shape fits format \"" + arguments.format + "\""};
  CUBIND_TRY(const std::string socket, test::gpu_daemon_socket());
  const test::PrimaryContext context;
  CUBIND_TRY(const cuda::DeviceTarget device, cuda::device_target(test::gpu(), 0));
  ClientOptions options;
  options.socket_path = socket;
  options.name = "kernel_sweep";
  options.connect_deadline = std::chrono::seconds(30);
  CUBIND_TRY(const auto client, Client::open(options));
  std::vector<LayerSpec> layers;
  for (const LayerShape& shape : arguments.shapes) {
    layers.push_back({descriptor, shape.n, shape.k, arguments.tokens.back()});
  }
  CUBIND_TRY(const auto catalogue, test::fetch_catalogue(*client, layers, device));
  std::FILE* csv = arguments.csv.empty() ? nullptr : std::fopen(arguments.csv.c_str(), "w");
  if (!arguments.csv.empty() && csv == nullptr) {
    return Error{ErrorCode::invalid_argument, "csv \"" + arguments.csv + "\" cannot be written"};
  }
  if (csv != nullptr) std::fputs("descriptor,arch,sm_count,n,k,m,config,splits,us\n", csv);
  Sweep sweep(descriptor, arguments, device, catalogue, csv);
  Status status;
  for (std::size_t i = 0; i < arguments.shapes.size() && status; ++i) status = sweep.shape(i);
  sweep.summary();
  if (csv != nullptr) std::fclose(csv);
  return status;
}

}  // namespace
}  // namespace cubind::bench

int main(int argc, char** argv) {
  const auto arguments = cubind::bench::parse(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "kernel_sweep: %s\n", to_string(arguments.error()).c_str());
    return 2;
  }
  if (const std::string reason = cubind::test::no_gpu_reason(); !reason.empty()) {
    std::fprintf(stderr, "skipped: %s\n", reason.c_str());
    return cubind::test::kSkipped;
  }
  if (const auto status = cubind::bench::run(*arguments); !status) {
    std::fprintf(stderr, "kernel_sweep: %s\n", to_string(status.error()).c_str());
    return 1;
  }
  return 0;
}
