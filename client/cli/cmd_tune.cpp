// tune: measures every kernel of a format's catalogue, at every number of splits that may be of use, on the device at
// hand, and writes the fastest of each layer and m as a tuning table (codegen/plan/measured_table.hpp). Kernels come
// from the daemon and are launched by the client's own code. Weights go round more than three times the L2, so that
// every launch reads them from memory.
#include <algorithm>
#include <ctime>
#include <fstream>
#include <optional>

#include "client/cli/commands.hpp"
#include "client/cli/device_bench.hpp"
#include "client/cli/output.hpp"
#include "client/cli/progress.hpp"
#include "client/layer.hpp"
#include "client/loaded_layer.hpp"
#include "client/weights/pack.hpp"
#include "codegen/plan/measured_table.hpp"

namespace cubind::cli {
namespace {

constexpr std::size_t kRotatedBytes = std::size_t{240} << 20;
constexpr std::size_t kMinCopies = 3, kMaxCopies = 512;
constexpr std::uint32_t kMaxSplits = 16;
constexpr double kGiveUpRatio = 1.5;  // slower than this times the best so far: not timed again

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm calendar{};
  gmtime_r(&now, &calendar);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &calendar);
  return text;
}

Result<std::vector<PreparedKernelPtr>> catalogue_of(Client& client, const LayerSpec& layer,
                                                    const cuda::DeviceTarget& target,
                                                    std::chrono::milliseconds deadline) {
  std::vector<PreparedKernelPtr> kernels;
  KernelsRequest request;
  request.arch = target.arch;
  request.sm_count = target.sm_count;
  request.launch_abi = kLaunchAbis;
  request.weight_layout = kWeightLayouts;
  request.whole_catalogue = true;
  request.layers = {layer};
  std::optional<Error> failure;
  Progress progress = Progress::to_stderr(true);
  KernelsCallbacks callbacks;
  callbacks.progress = [&](const ProgressReply& reply) {
    progress.show("tune", reply);
    return true;
  };
  callbacks.kernel = [&](const KernelReply& reply, Bytes code) {
    if (reply.code != ErrorCode::ok) {
      failure = Error{reply.code, reply.message};
      return;
    }
    auto kernel = std::make_shared<PreparedKernel>();
    kernel->key = reply.key;
    kernel->info = reply.info;
    kernel->cubin = std::move(code);
    kernel->arch_text = to_string(reply.info.arch);
    kernels.push_back(std::move(kernel));
  };
  CUBIND_CHECK(client.kernels(std::move(request), callbacks, deadline));
  progress.finish();
  if (failure) return *failure;
  if (kernels.empty()) return Error{ErrorCode::internal, "the daemon answered without a kernel"};
  return kernels;
}

// "wgmma_m64n128k128s8w8x1x1" of "w4a16-bf16-g64-zp-wgmma_m64n128k128s8w8x1x1".
std::string config_of(const KernelInfo& info) {
  return info.name.substr(info.name.rfind('-') + 1);
}

constexpr std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

// Without those that leave a split empty, while blocks are few enough for more to help.
std::vector<std::uint32_t> splits_of(const KernelInfo& info, const LayerSpec& layer, std::uint32_t sm_count) {
  const std::uint64_t tiles = std::uint64_t{ceil_div(layer.max_m, info.tile_m)} * ceil_div(layer.n, info.tile_n);
  const std::uint32_t k_tiles = ceil_div(layer.k, info.tile_k);
  std::vector<std::uint32_t> splits{1};
  std::uint32_t per_split = k_tiles;
  for (std::uint32_t s = 2; s <= kMaxSplits && tiles < 2ull * sm_count && tiles <= kWorkspaceMaxTiles; ++s) {
    const std::uint32_t next = ceil_div(k_tiles, s);
    if (next == per_split) continue;
    per_split = next;
    const std::uint32_t parts = ceil_div(k_tiles, next);
    const bool exists = info.launch_abi != kMappedLaunchAbi || cluster_exists(info.tile_m, info.tile_n, parts);
    if (exists) splits.push_back(parts);
  }
  return splits;
}

// One layer's operands on the device.
class LayerBench {
 public:
  static Result<LayerBench> make(const DeviceBench& bench, const LayerSpec& layer) {
    LayerBench made(bench, layer);
    CUBIND_TRY(const auto layout, packed_layout(layer.descriptor, layer.n, layer.k));
    made.pitch_ = up(layout.weight_bytes) + up(layout.scale_bytes) + up(layout.zero_bytes);
    made.scales_at_ = up(layout.weight_bytes);
    made.zeros_at_ = layout.zero_bytes == 0 ? 0 : made.scales_at_ + up(layout.scale_bytes);
    made.copies_ = std::clamp(kRotatedBytes / made.pitch_ + 1, kMinCopies, kMaxCopies);
    CUBIND_TRY(made.weights_, bench.random(made.copies_ * made.pitch_));
    CUBIND_TRY(made.x_, bench.random(std::size_t{layer.max_m} * up(layer.k) * 2));
    CUBIND_TRY(made.out_, bench.zeroed(std::size_t{layer.max_m} * layer.n * 2));
    CUBIND_TRY(made.bias_, bench.random(std::size_t{layer.n} * 2));
    return made;
  }

  // Microseconds of one launch with m tokens.
  Result<double> us(const PreparedKernelPtr& kernel, std::uint32_t m, std::uint32_t splits, double give_up_us) const {
    PreparedLayer one;
    one.spec = layer_;
    one.spec.max_m = m;
    one.rows = {{1, m, 0, splits, ceil_div(ceil_div(layer_.k, kernel->info.tile_k), splits)}};
    one.kernels = {{kernel, Outcome::none}};
    CUBIND_TRY(const auto loaded, LoadedLayer::load(bench_.api(), one, nullptr));
    const auto workspace_bytes = one.workspace_bytes(m);
    CUBIND_TRY(const auto workspace, bench_.zeroed(workspace_bytes));
    LaunchArgs args;
    args.m = m;
    args.ldx = static_cast<std::uint32_t>(up(layer_.k));
    args.ldo = layer_.n;
    args.x = x_.at(0);
    args.bias = layer_.descriptor.bias ? bias_.at(0) : nullptr;
    args.out = out_.at(0);
    args.workspace = workspace.at(0);
    args.workspace_bytes = workspace_bytes;
    args.stream = bench_.stream();
    return bench_.graph_us(copies_, give_up_us, [&](std::size_t copy) {
      args.weights = weights_.at(copy * pitch_);
      args.scales = weights_.at(copy * pitch_ + scales_at_);
      args.zeros = zeros_at_ == 0 ? nullptr : weights_.at(copy * pitch_ + zeros_at_);
      return loaded->launch(args);
    });
  }

 private:
  LayerBench(const DeviceBench& bench, const LayerSpec& layer) : bench_(bench), layer_(layer) {}
  static std::size_t up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  const DeviceBench& bench_;
  LayerSpec layer_;
  std::size_t pitch_ = 0, scales_at_ = 0, zeros_at_ = 0, copies_ = 0;
  DeviceMemory weights_, x_, out_, bias_;
};

Status tune_layer(const DeviceBench& bench, const std::vector<PreparedKernelPtr>& kernels, const LayerSpec& layer,
                  const std::vector<std::uint32_t>& tokens, MeasuredTable& table) {
  CUBIND_TRY(const auto operands, LayerBench::make(bench, layer));
  for (const std::uint32_t m : tokens) {
    double best = 1e30;
    LayerSpec at_m = layer;
    at_m.max_m = m;
    for (const auto& kernel : kernels) {
      for (const std::uint32_t splits : splits_of(kernel->info, at_m, bench.target().sm_count)) {
        CUBIND_TRY(const double us, operands.us(kernel, m, splits, kGiveUpRatio * best));
        best = std::min(best, us);
        table.add(measured_format(layer.descriptor), layer.n, layer.k, {m, config_of(kernel->info), splits, us});
      }
    }
  }
  return {};
}

std::string list_of(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return Error{ErrorCode::invalid_argument, "-o \"" + path + "\" cannot be written"};
}

}  // namespace

Status run(const CommonOptions& common, const TuneOptions& options) {
  CUBIND_TRY(const auto bench, DeviceBench::open(static_cast<int>(options.device)));
  CUBIND_TRY(const auto client, open_client(common));
  MeasuredTable table(bench->target().arch, bench->target().sm_count);
  table.note("gpu", bench->device_name());
  table.note("driver", std::to_string(bench->driver_version() / 1000) + "." +
                           std::to_string(bench->driver_version() % 1000 / 10));
  table.note("date", today());
  table.note("tokens", list_of(options.tokens));
  std::string toolchain;
  for (const auto& descriptor : options.formats) {
    std::optional<std::vector<PreparedKernelPtr>> kernels;
    for (const auto& [n, k] : options.shapes) {
      if (!validate_shape(descriptor, n, k).ok()) continue;  // a group that does not divide this k
      const LayerSpec layer{descriptor, n, k, options.tokens.back()};
      if (!kernels) {
        CUBIND_TRY(kernels,
                   catalogue_of(*client, layer, bench->target(), deadline_of(common, std::chrono::minutes(10))));
        if (toolchain.empty()) table.note("toolchain", toolchain = kernels->front()->info.toolchain);
      }
      CUBIND_CHECK(tune_layer(*bench, *kernels, layer, options.tokens, table));
      if (!options.output.empty()) CUBIND_CHECK(write_file(options.output, table.text()));  // a cut run leaves a table
    }
  }
  return options.output.empty() ? print_text(table.text()) : Status{};
}

}  // namespace cubind::cli
