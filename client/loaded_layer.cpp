#include "client/loaded_layer.hpp"

#include <algorithm>
#include <bit>

#include "client/driver/device.hpp"
#include "client/fork_guard.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind {
namespace {

constexpr std::uintptr_t kTensorAlignment = 16;  // one asynchronous copy
constexpr std::uintptr_t kWorkspaceAlignment = 256;
constexpr std::uint32_t kPerChannelShift = 31;
constexpr std::uint32_t kMaxGridY = 65535;

bool aligned(const void* pointer, std::uintptr_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

Error invalid(const char* field, std::uint64_t value, const std::string& rule) {
  return {ErrorCode::invalid_argument, std::string(field) + " \"" + std::to_string(value) + "\" " + rule};
}

Error invalid_pointer(const char* field, const void* pointer, const std::string& rule) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (auto value = reinterpret_cast<std::uintptr_t>(pointer); value != 0; value /= 16) {
    text.insert(text.begin(), kDigits[value % 16]);
  }
  return {ErrorCode::invalid_argument, std::string(field) + " \"0x" + (text.empty() ? "0" : text) + "\" " + rule};
}

constexpr std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return a / b + (a % b != 0);
}

}  // namespace

LoadedLayer::LoadedLayer(const cuda::DriverApi& api, std::shared_ptr<const cuda::PrimaryContext> primary)
    : api_(api), primary_(std::move(primary)), generation_(fork_generation()) {}

Result<std::unique_ptr<LoadedLayer>> LoadedLayer::load(const cuda::DriverApi& api, const PreparedLayer& layer,
                                                       std::shared_ptr<const cuda::PrimaryContext> primary) {
  std::unique_ptr<LoadedLayer> made(new LoadedLayer(api, std::move(primary)));
  for (const auto& entry : layer.kernels) {
    CUBIND_TRY(auto kernel, load_kernel(api, *entry.kernel));
    made->kernels_.push_back(std::move(kernel));
  }
  for (const LaunchRow& row : layer.rows) {
    const KernelInfo& info = layer.kernels[row.kernel].kernel->info;
    made->rows_.push_back({row.m_last, made->kernels_[row.kernel]->function, info.threads, info.smem_bytes, info.tile_m,
                           info.tile_n, info.tile_k, row.splits, row.k_tiles_per_split,
                           info.launch_abi == kMappedLaunchAbi});
  }
  CUBIND_TRY(const auto device, cuda::current_device(api));
  CUBIND_TRY(const auto target, cuda::device_target(api, device));
  made->sm_count_ = target.sm_count;
  const GemmDescriptor& gemm = layer.spec.descriptor;
  made->n_ = layer.spec.n;
  made->k_ = layer.spec.k;
  made->max_m_ = layer.spec.max_m;
  made->zeros_ = gemm.zero_point != ZeroPointKind::none;
  made->bias_ = gemm.bias;
  if (gemm.weight_scale == ScaleKind::group) {
    made->k_groups_ = layer.spec.k / gemm.group_k;
    made->group_shift_ = static_cast<std::uint32_t>(std::countr_zero(gemm.group_k));
  } else {
    made->k_groups_ = 1;
    made->group_shift_ = kPerChannelShift;
  }
  return made;
}

std::uint64_t LoadedLayer::row_workspace(const Row& row, std::uint32_t m) const {
  return workspace_bytes(row.tile_m, row.tile_n, row.splits, n_, m);
}

Status LoadedLayer::launch(const LaunchArgs& args) const {
  const Row* row = nullptr;
  if (args.m - 1 < max_m_) {  // also refuses 0
    row = rows_.data();
    while (row->m_last < args.m) ++row;  // at most a dozen
  }
  const bool good = row != nullptr && generation_ == fork_generation() && args.ldx >= k_ && args.ldx % 8 == 0 &&
                    args.ldo >= n_ && args.x != nullptr && aligned(args.x, kTensorAlignment) &&
                    args.weights != nullptr && aligned(args.weights, kTensorAlignment) && args.scales != nullptr &&
                    aligned(args.scales, kTensorAlignment) && (args.zeros != nullptr) == zeros_ &&
                    aligned(args.zeros, kTensorAlignment) && (args.bias != nullptr) == bias_ && aligned(args.bias, 2) &&
                    args.out != nullptr && aligned(args.out, 2) &&
                    (row->splits == 1 || row->mapped ||
                     (args.workspace != nullptr && aligned(args.workspace, kWorkspaceAlignment) &&
                      args.workspace_bytes >= row_workspace(*row, args.m))) &&
                    ceil_div(args.m, row->tile_m) <= kMaxGridY;
  if (!good) return refuse(args, row);

  MappedGemmParams params;  // kernels without maps take the part before them
  params.x = args.x;
  params.weights = args.weights;
  params.scales = args.scales;
  params.zeros = args.zeros;
  params.bias = args.bias;
  params.out = args.out;
  params.workspace = row->splits > 1 && !row->mapped ? args.workspace : nullptr;
  params.m = args.m;
  params.n = n_;
  params.k = k_;
  params.ldx = args.ldx;
  params.ldo = args.ldo;
  params.k_groups = k_groups_;
  params.group_shift = group_shift_;
  params.splits = row->splits;
  params.k_tiles_per_split = row->k_tiles_per_split;
  std::uint32_t grid_x = ceil_div(n_, row->tile_n), grid_y = ceil_div(args.m, row->tile_m), grid_z = row->splits;
  if (row->mapped) {
    CUBIND_CHECK(encode_maps(params, *row));
    const std::uint32_t tiles = grid_x * grid_y;
    grid_x = row->splits > 1 ? tiles * row->splits : std::min(tiles, sm_count_);
    grid_y = grid_z = 1;
  }
  void* pointers[] = {&params};
  if (row->mapped && row->splits > 1) {
    cuda::LaunchAttribute cluster;
    cluster.cluster[0] = row->splits;
    cluster.cluster[1] = cluster.cluster[2] = 1;
    const cuda::LaunchConfig config{grid_x, grid_y,          grid_z,      row->threads, 1,
                                    1,      row->smem_bytes, args.stream, &cluster,     1};
    CUBIND_CU(api_, launch_kernel_ex, &config, row->function, pointers, nullptr);
    return {};
  }
  CUBIND_CU(api_, launch_kernel, row->function, grid_x, grid_y, grid_z, row->threads, 1, 1, row->smem_bytes,
            args.stream, pointers, nullptr);
  return {};
}

// As protocol/kernel_abi.hpp describes them; weights in units of 16 x 64 4-bit values, 128 words.
Status LoadedLayer::encode_maps(MappedGemmParams& params, const Row& row) const {
  using namespace cuda;
  constexpr std::uint32_t kUnitRows = 16, kUnitK = 64, kUnitWords = 128;
  constexpr unsigned kOnes[] = {1, 1, 1};
  const std::uint64_t units = ceil_div(k_, kUnitK), panels = ceil_div(n_, kUnitRows);
  const unsigned long long x_size[] = {k_, params.m}, x_pitch[] = {std::uint64_t{params.ldx} * 2};
  const unsigned x_box[] = {kUnitK, row.tile_m};
  CuResult result = api_.tensor_map_encode_tiled(&params.x_map, TensorMapType::uint16, 2, params.x, x_size, x_pitch,
                                                 x_box, kOnes, TensorMapInterleave::none, TensorMapSwizzle::bytes_128,
                                                 TensorMapPromotion::bytes_128, TensorMapFill::zeros);
  if (result == kSuccess) {
    const unsigned box_panels = row.tile_n / kUnitRows, box_units = row.tile_k / kUnitK;
    const unsigned long long size[] = {kUnitWords, units, panels}, pitch[] = {kUnitWords * 4, units * kUnitWords * 4};
    const unsigned box[] = {kUnitWords, box_units, box_panels};
    result = api_.tensor_map_encode_tiled(&params.weights_map, TensorMapType::uint32, 3, params.weights, size, pitch,
                                          box, kOnes, TensorMapInterleave::none, TensorMapSwizzle::none,
                                          TensorMapPromotion::bytes_128, TensorMapFill::zeros);
  }
  if (result != kSuccess) return driver_error(api_, "tensor_map_encode_tiled", result);
  return {};
}

// The slow way through the same conditions, to name the one that is broken.
Status LoadedLayer::refuse(const LaunchArgs& args, const Row* row) const {
  if (generation_ != fork_generation()) {
    return Error{ErrorCode::not_supported, "CUDA does not survive fork: this layer was loaded by the parent process"};
  }
  if (row == nullptr) return invalid("m", args.m, "is not in 1 to max_m " + std::to_string(max_m_));
  if (args.ldx < k_ || args.ldx % 8 != 0) {
    return invalid("ldx", args.ldx, "is not a multiple of 8 and at least k " + std::to_string(k_));
  }
  if (args.ldo < n_) return invalid("ldo", args.ldo, "is below n " + std::to_string(n_));
  const struct {
    const char* name;
    const void* pointer;
    std::uintptr_t alignment;
  } tensors[] = {{"x", args.x, kTensorAlignment},
                 {"weights", args.weights, kTensorAlignment},
                 {"scales", args.scales, kTensorAlignment},
                 {"out", args.out, 2}};
  for (const auto& tensor : tensors) {
    if (tensor.pointer == nullptr || !aligned(tensor.pointer, tensor.alignment)) {
      return invalid_pointer(tensor.name, tensor.pointer,
                             "is not device memory aligned to " + std::to_string(tensor.alignment) + " bytes");
    }
  }
  if ((args.zeros != nullptr) != zeros_) {
    return invalid_pointer("zeros", args.zeros,
                           zeros_ ? "is null, the layer has zero points" : "is not null, the layer has no zero points");
  }
  if (!aligned(args.zeros, kTensorAlignment)) return invalid_pointer("zeros", args.zeros, "is not aligned to 16 bytes");
  if ((args.bias != nullptr) != bias_) {
    return invalid_pointer("bias", args.bias,
                           bias_ ? "is null, the layer has a bias" : "is not null, the layer has no bias");
  }
  if (!aligned(args.bias, 2)) return invalid_pointer("bias", args.bias, "is not aligned to 2 bytes");
  if (row->splits > 1 && !row->mapped) {
    const auto needed = row_workspace(*row, args.m);
    if (args.workspace_bytes < needed) {
      return invalid("workspace_bytes", args.workspace_bytes,
                     "is below the " + std::to_string(needed) + " that m " + std::to_string(args.m) + " needs");
    }
    if (args.workspace == nullptr || !aligned(args.workspace, kWorkspaceAlignment)) {
      return invalid_pointer("workspace", args.workspace, "is not device memory aligned to 256 bytes");
    }
  }
  return invalid("m", args.m, "needs more than 65535 blocks of " + std::to_string(row->tile_m) + " tokens");
}

}  // namespace cubind
