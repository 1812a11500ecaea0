// cubind.h over the C++ classes: structs in and out, errors into cubind_error, no exception past this file.
#include <cstring>

#include "client/c_calls.hpp"
#include "client/client.hpp"
#include "client/driver/device.hpp"
#include "client/kernel_cache.hpp"
#include "client/layer.hpp"
#include "client/loaded_layer.hpp"
#include "cubind/cubind.h"
#include "cubind_version.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"

struct cubind_client {
  std::unique_ptr<cubind::Client> client;
  cubind::KernelCache kernels;
};
struct cubind_layer {
  std::unique_ptr<const cubind::PreparedLayer> layer;
};
struct cubind_loaded_layer {
  std::unique_ptr<const cubind::LoadedLayer> layer;
};

namespace cubind {
namespace {

using std::chrono::milliseconds;

cubind_gemm written_gemm(const GemmDescriptor& gemm) {
  cubind_gemm out{};
  out.kind = static_cast<std::uint32_t>(gemm.kind);
  out.activation = static_cast<std::uint32_t>(gemm.activation);
  out.weight = static_cast<std::uint32_t>(gemm.weight);
  out.output = static_cast<std::uint32_t>(gemm.output);
  out.weight_scale = static_cast<std::uint32_t>(gemm.weight_scale);
  out.weight_scale_type = static_cast<std::uint32_t>(gemm.weight_scale_type);
  out.group_k = gemm.group_k;
  out.group_n = gemm.group_n;
  out.weight_global_scale = gemm.weight_global_scale ? 1 : 0;
  out.zero_point = static_cast<std::uint32_t>(gemm.zero_point);
  out.activation_scale = static_cast<std::uint32_t>(gemm.activation_scale);
  out.activation_scale_type = static_cast<std::uint32_t>(gemm.activation_scale_type);
  out.activation_group_k = gemm.activation_group_k;
  out.bias = gemm.bias ? 1 : 0;
  out.epilogue = static_cast<std::uint32_t>(gemm.epilogue);
  out.accumulation = static_cast<std::uint32_t>(gemm.accumulation);
  out.promotion_k = gemm.promotion_k;
  out.determinism = static_cast<std::uint32_t>(gemm.determinism);
  return out;
}

Result<std::vector<LayerSpec>> read_layers(const cubind_layer_desc* layers, std::size_t count) {
  CUBIND_CHECK(not_null(layers, "layers"));
  if (count == 0 || count > limits::kMaxLayersPerRequest) {
    return out_of_range("count", count, "is not in 1 to " + std::to_string(limits::kMaxLayersPerRequest));
  }
  std::vector<LayerSpec> specs;
  specs.reserve(count);
  const std::size_t stride = layers->struct_size;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* given = reinterpret_cast<const cubind_layer_desc*>(reinterpret_cast<const char*>(layers) + i * stride);
    const auto in_layer = [i](Error error) {
      error.message = "layer \"" + std::to_string(i) + "\": " + error.message;
      return error;
    };
    auto desc = read_struct(given, "layer");
    if (!desc) return in_layer(desc.error());
    auto gemm = read_gemm(desc->gemm);
    if (!gemm) return in_layer(gemm.error());
    Status valid = validate(*gemm);
    if (valid) valid = validate_shape(*gemm, desc->n, desc->k);
    if (!valid) return in_layer(valid.error());
    if (desc->max_m == 0 || desc->max_m > limits::kMaxM) {
      return in_layer(out_of_range("max_m", desc->max_m, "is not in 1 to " + std::to_string(limits::kMaxM)));
    }
    specs.push_back({*gemm, desc->n, desc->k, desc->max_m});
  }
  return specs;
}

// The target: what the options say, and the device for what they leave open. `plans` is false for prewarm, which does
// not depend on the number of SMs.
Status read_target(const cubind_prepare_options& given, bool plans, PrepareOptions& out) {
  if (given.arch != nullptr) {
    CUBIND_TRY(out.arch, arch_from_string(given.arch));
  }
  out.sm_count = given.sm_count != 0 || plans ? given.sm_count : 1;
  out.max_cuda = given.max_cuda;
  if (given.arch != nullptr && out.sm_count != 0) {
    if (out.max_cuda != 0) return {};
    const auto api = cuda::open_driver();
    int version = 0;
    if (api && (*api)->driver_get_version(&version) == cuda::kSuccess && version > 0) {
      out.max_cuda = static_cast<std::uint32_t>(version);
    }
    return {};
  }
  if (given.device == CUBIND_NO_DEVICE) {
    return Error{ErrorCode::invalid_argument, "without a device, arch and sm_count must be given"};
  }
  CUBIND_TRY(const auto* api, cuda::driver());
  CUBIND_TRY(const cuda::Device device, chosen_device(*api, given.device));
  CUBIND_TRY(const cuda::DeviceTarget target, cuda::device_target(*api, device));
  if (given.arch == nullptr) out.arch = target.arch;
  if (given.sm_count == 0) out.sm_count = target.sm_count;
  if (out.max_cuda == 0) {
    int version = 0;
    CUBIND_CU(*api, driver_get_version, &version);
    out.max_cuda = static_cast<std::uint32_t>(version);
  }
  return {};
}

Result<PrepareOptions> read_prepare_options(const cubind_prepare_options* given, bool plans) {
  cubind_prepare_options options{};
  if (given != nullptr) {
    CUBIND_TRY(options, read_struct(given, "options"));
  }
  PrepareOptions out;
  if (options.mode > CUBIND_MODE_PREFETCH || (plans && options.mode == CUBIND_MODE_PREFETCH)) {
    return out_of_range("mode", options.mode, plans ? "is not CUBIND_MODE_WAIT or _HIT_ONLY" : "is no CUBIND_MODE_");
  }
  out.mode = static_cast<RequestMode>(options.mode);
  out.deadline = milliseconds(options.deadline_ms);
  for (std::size_t i = 0; i < options.excluded_count; ++i) {
    CUBIND_CHECK(not_null(options.excluded_toolchains, "excluded_toolchains"));
    CUBIND_CHECK(not_null(options.excluded_toolchains[i], "an excluded toolchain"));
    out.excluded_toolchains.emplace_back(options.excluded_toolchains[i]);
  }
  if (options.progress != nullptr) {
    out.progress = [call = options.progress, context = options.progress_context](const ProgressReply& now) {
      cubind_progress progress{};
      progress.struct_size = sizeof progress;
      progress.total = now.total;
      progress.ready = now.ready;
      progress.compiling = now.compiling;
      progress.queued = now.queued;
      progress.elapsed_ms = now.elapsed_ms;
      return call(context, &progress) == 0;
    };
  }
  CUBIND_CHECK(read_target(options, plans, out));
  return out;
}

const char* joined(const std::vector<std::string>& parts, std::string& out) {
  for (const std::string& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out.c_str();
}

}  // namespace
}  // namespace cubind

using namespace cubind;

const char* cubind_version(void) {
  return CUBIND_VERSION;
}

const char* cubind_status_name(cubind_status status) {
  return to_string(static_cast<ErrorCode>(status)).data();  // literals
}

cubind_status cubind_client_open(const cubind_client_options* given, cubind_client** out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(out, "out"));
    cubind_client_options options{};
    if (given != nullptr) {
      CUBIND_TRY(options, read_struct(given, "options"));
    }
    ClientOptions to;
    if (options.socket != nullptr) to.socket_path = options.socket;
    to.name = "libcubind " CUBIND_VERSION;
    if (options.name != nullptr) to.name += std::string(" ") + options.name;
    to.connect_deadline = milliseconds(options.connect_deadline_ms);
    if (options.request_deadline_ms != 0) to.request_deadline = milliseconds(options.request_deadline_ms);
    auto made = std::make_unique<cubind_client>();
    CUBIND_TRY(made->client, Client::open(std::move(to)));
    *out = made.release();
    return {};
  });
}

void cubind_client_close(cubind_client* client) {
  delete client;
}

cubind_status cubind_client_health(cubind_client* client, cubind_health* out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(client, "client"));
    CUBIND_CHECK(read_struct(out, "out"));
    CUBIND_TRY(const HealthReply reply, client->client->health());
    cubind_health health{};
    health.state = static_cast<std::uint32_t>(reply.state);
    health.pid = reply.pid;
    health.uptime_ms = reply.uptime_ms;
    std::string reasons;
    copy_text(health.daemon, reply.daemon);
    copy_text(health.reasons, joined(reply.reasons, reasons));
    return write_struct(out, health, "out");
  });
}

cubind_status cubind_client_stats(cubind_client* client, cubind_counter_fn counter, void* context,
                                  cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(client, "client"));
    if (counter == nullptr) return Error{ErrorCode::invalid_argument, "counter is null"};
    CUBIND_TRY(const StatsReply reply, client->client->stats());
    for (const Counter& one : reply.counters) counter(context, one.name.c_str(), one.value);
    return {};
  });
}

cubind_status cubind_client_ready(cubind_client* client, int ready, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(client, "client"));
    return client->client->declare_ready(ready != 0);
  });
}

cubind_status cubind_gemm_from_name(const char* name, cubind_gemm* out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(name, "name"));
    CUBIND_TRY(const GemmDescriptor gemm, descriptor_from_name(name));
    return write_struct(out, written_gemm(gemm), "out");
  });
}

cubind_status cubind_layers_prepare(cubind_client* client, const cubind_layer_desc* layers, size_t count,
                                    const cubind_prepare_options* given, cubind_layer** out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(client, "client"));
    CUBIND_CHECK(not_null(out, "out"));
    CUBIND_TRY(const auto specs, read_layers(layers, count));
    CUBIND_TRY(const auto options, read_prepare_options(given, true));
    CUBIND_TRY(auto prepared, prepare_layers(*client->client, client->kernels, specs, options));
    std::vector<std::unique_ptr<cubind_layer>> handles;
    for (auto& layer : prepared) {
      handles.push_back(std::make_unique<cubind_layer>());
      handles.back()->layer = std::move(layer);
    }
    for (std::size_t i = 0; i < count; ++i) out[i] = handles[i].release();
    return {};
  });
}

void cubind_layer_close(cubind_layer* layer) {
  delete layer;
}

cubind_status cubind_prewarm(cubind_client* client, const cubind_layer_desc* layers, size_t count,
                             const cubind_prepare_options* given, cubind_prewarm_summary* out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(client, "client"));
    if (out != nullptr) CUBIND_CHECK(read_struct(out, "out"));
    CUBIND_TRY(const auto specs, read_layers(layers, count));
    CUBIND_TRY(const auto options, read_prepare_options(given, false));
    Error failure;
    CUBIND_TRY(const SummaryReply reply, prewarm_layers(*client->client, specs, options, &failure));
    cubind_prewarm_summary summary{};
    summary.total = reply.total;
    summary.hits = reply.hits_memory + reply.hits_disk;
    summary.built = reply.built;
    summary.joined = reply.joined;
    summary.pending = reply.pending;
    summary.failed = reply.failed;
    summary.elapsed_ms = reply.elapsed_ms;
    summary.compile_ms = reply.compile_ms;
    if (out != nullptr) CUBIND_CHECK(write_struct(out, summary, "out"));
    if (reply.failed > 0) return failure;
    if (reply.pending > 0 && options.mode != RequestMode::prefetch) {
      return Error{ErrorCode::pending, std::to_string(reply.pending) + " of " + std::to_string(reply.total) +
                                           " kernels are not ready yet; their compiles go on"};
    }
    return {};
  });
}

size_t cubind_layer_kernel_count(const cubind_layer* layer) {
  return layer->layer->kernels.size();
}

cubind_status cubind_layer_kernel(const cubind_layer* layer, size_t index, cubind_kernel_info* out,
                                  cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(layer, "layer"));
    const auto& kernels = layer->layer->kernels;
    if (index >= kernels.size()) {
      return out_of_range("index", index, "is not below " + std::to_string(kernels.size()));
    }
    const PreparedKernel& kernel = *kernels[index].kernel;
    cubind_kernel_info info{};
    info.tile_m = kernel.info.tile_m;
    info.tile_n = kernel.info.tile_n;
    info.tile_k = kernel.info.tile_k;
    info.threads = kernel.info.threads;
    info.smem_bytes = kernel.info.smem_bytes;
    info.registers = kernel.info.registers;
    info.local_bytes = kernel.info.local_bytes;
    info.launch_abi = kernel.info.launch_abi;
    info.weight_layout = kernel.info.weight_layout;
    info.outcome = static_cast<std::uint32_t>(kernels[index].outcome);
    info.compile_ms = kernel.info.compile_ms;
    info.cubin_bytes = kernel.cubin.size();
    info.cubin = kernel.cubin.data();
    info.name = kernel.info.name.c_str();
    info.key = kernel.key_hex.c_str();
    info.arch = kernel.arch_text.c_str();
    info.toolchain = kernel.info.toolchain.c_str();
    return write_struct(out, info, "out");
  });
}

size_t cubind_layer_row_count(const cubind_layer* layer) {
  return layer->layer->rows.size();
}

cubind_status cubind_layer_row(const cubind_layer* layer, size_t index, cubind_launch_row* out, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(layer, "layer"));
    const auto& rows = layer->layer->rows;
    if (index >= rows.size()) return out_of_range("index", index, "is not below " + std::to_string(rows.size()));
    cubind_launch_row row{};
    row.m_first = rows[index].m_first;
    row.m_last = rows[index].m_last;
    row.kernel = rows[index].kernel;
    row.splits = rows[index].splits;
    row.k_tiles_per_split = rows[index].k_tiles_per_split;
    return write_struct(out, row, "out");
  });
}

size_t cubind_layer_workspace_bytes(const cubind_layer* layer, uint32_t m) {
  return layer->layer->workspace_bytes(m);
}

cubind_status cubind_layer_load(const cubind_layer* layer, int32_t device, cubind_loaded_layer** out,
                                cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(layer, "layer"));
    CUBIND_CHECK(not_null(out, "out"));
    CUBIND_TRY(const auto* api, cuda::driver());
    auto handle = std::make_unique<cubind_loaded_layer>();
    if (device == CUBIND_CURRENT_CONTEXT) {
      CUBIND_TRY(handle->layer, LoadedLayer::load(*api, *layer->layer, nullptr));
    } else {
      CUBIND_TRY(const cuda::Device chosen, chosen_device(*api, device));
      CUBIND_TRY(auto primary, cuda::PrimaryContext::retain(*api, chosen));
      CUBIND_TRY(const auto scope, cuda::ContextScope::enter(*api, primary->get()));
      CUBIND_TRY(handle->layer, LoadedLayer::load(*api, *layer->layer, std::move(primary)));
    }
    *out = handle.release();
    return {};
  });
}

void cubind_loaded_layer_close(cubind_loaded_layer* layer) {
  delete layer;
}

cubind_status cubind_layer_launch(const cubind_loaded_layer* layer, const cubind_launch_args* given,
                                  cubind_error* error) {
  return guarded(error, [&]() -> Status {
    CUBIND_CHECK(not_null(layer, "layer"));
    CUBIND_TRY(const cubind_launch_args args, read_struct(given, "args"));
    LaunchArgs to;
    to.x = args.x;
    to.weights = args.weights;
    to.scales = args.scales;
    to.zeros = args.zeros;
    to.bias = args.bias;
    to.out = args.out;
    to.workspace = args.workspace;
    to.workspace_bytes = args.workspace_bytes;
    to.m = args.m;
    to.ldx = args.ldx;
    to.ldo = args.ldo;
    to.stream = args.stream;
    return layer->layer->launch(to);
  });
}

cubind_status cubind_workspace_init(void* workspace, size_t bytes, cubind_stream stream, cubind_error* error) {
  return guarded(error, [&]() -> Status {
    if (bytes == 0) return {};  // a layer whose launches need none
    CUBIND_CHECK(not_null(workspace, "workspace"));
    CUBIND_TRY(const auto* api, cuda::driver());
    const auto counters = std::min<std::size_t>(bytes, kWorkspaceCounterBytes);
    CUBIND_CU(*api, memset_d8_async, reinterpret_cast<cuda::DevicePtr>(workspace), 0, counters, stream);
    return {};
  });
}
