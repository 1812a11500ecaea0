#include "client/layer.hpp"

#include <algorithm>
#include <unordered_map>

#include "protocol/kernel_abi.hpp"

namespace cubind {
namespace {

constexpr std::uint32_t kMaxThreads = 1024;  // a block of any device

KernelsRequest request_of(const std::vector<LayerSpec>& layers, const PrepareOptions& options) {
  KernelsRequest request;
  request.arch = options.arch;
  request.sm_count = options.sm_count;
  request.mode = options.mode;
  if (options.max_cuda != 0) {
    request.toolchain.rule = ToolchainRule::max_cuda;
    request.toolchain.max_cuda = options.max_cuda;
  }
  request.toolchain.excluded = options.excluded_toolchains;
  request.launch_abi = kLaunchAbis;
  request.weight_layout = kWeightLayouts;
  request.layers = layers;
  return request;
}

Error kernel_error(const KernelReply& reply) {
  const std::string name = reply.info.name.empty() ? reply.key.short_hex() : reply.info.name;
  const std::string why = reply.message.empty() ? std::string(to_string(reply.code)) : reply.message;
  return {reply.code, "kernel \"" + name + "\": " + why};
}

Error broken(const std::string& what) {
  return {ErrorCode::corruption, "the daemon's answer: " + what};
}

// What a launcher divides by, indexes with or passes to the driver is checked once, here.
Status check_kernel(const KernelReply& reply) {
  const KernelInfo& info = reply.info;
  const auto field = [&](const char* name, std::uint64_t value) {
    return broken(std::string(name) + " \"" + std::to_string(value) + "\" of kernel \"" + info.name +
                  "\" is out of range");
  };
  if (info.entry != kEntryName) return broken("entry \"" + info.entry + "\" is not \"" + kEntryName + "\"");
  if (info.launch_abi < kLaunchAbis.min || info.launch_abi > kLaunchAbis.max)
    return field("launch_abi", info.launch_abi);
  if (info.weight_layout < kWeightLayouts.min || info.weight_layout > kWeightLayouts.max)
    return field("weight_layout", info.weight_layout);
  if (info.tile_m == 0 || info.tile_m > 4096) return field("tile_m", info.tile_m);
  if (info.tile_n == 0 || info.tile_n > 4096) return field("tile_n", info.tile_n);
  if (info.threads == 0 || info.threads > kMaxThreads) return field("threads", info.threads);
  if (info.smem_bytes > (1u << 20)) return field("smem_bytes", info.smem_bytes);
  return {};
}

Status check_table(const TableReply& table, std::uint32_t max_m) {
  const auto layer = [&] { return "table of layer \"" + std::to_string(table.layer) + "\""; };
  std::uint32_t next = 1;
  for (const LaunchRow& row : table.rows) {
    if (row.m_first != next || row.m_last < row.m_first || row.m_last > max_m) {
      return broken(layer() + " has rows with a gap or an overlap at m \"" + std::to_string(next) + "\"");
    }
    if (row.kernel >= table.kernels.size()) return broken(layer() + " names a kernel that it does not list");
    if (row.splits == 0 || row.k_tiles_per_split == 0) return broken(layer() + " has a row without k tiles");
    next = row.m_last + 1;
  }
  if (next != max_m + 1) return broken(layer() + " ends before max_m \"" + std::to_string(max_m) + "\"");
  return {};
}

// Collects the replies of one prepare.
struct Collector {
  KernelCache& cache;
  const std::vector<LayerSpec>& layers;
  std::vector<TableReply> tables;
  std::unordered_map<KernelKey, PreparedLayer::Entry, DigestHash> kernels;
  std::optional<Error> failure;  // the first; a real failure replaces `pending`

  void fail(Error error) {
    if (!failure || (failure->code == ErrorCode::pending && error.code != ErrorCode::pending)) {
      failure = std::move(error);
    }
  }

  void take(const TableReply& table) {
    if (Status checked = check_table(table, layers[table.layer].max_m); !checked) fail(std::move(checked).error());
    tables[table.layer] = table;
  }

  void take(const KernelReply& reply, Bytes code) {
    if (reply.code != ErrorCode::ok) return fail(kernel_error(reply));
    if (Status checked = check_kernel(reply); !checked) return fail(std::move(checked).error());
    PreparedLayer::Entry entry{cache.find(reply.key), reply.outcome};
    if (!code.empty()) {
      auto kernel = std::make_shared<PreparedKernel>();
      kernel->key = reply.key;
      kernel->info = reply.info;
      kernel->cubin = std::move(code);
      kernel->key_hex = reply.key.hex();
      kernel->arch_text = to_string(reply.info.arch);
      entry.kernel = cache.add(std::move(kernel));
    } else {
      entry.outcome = Outcome::none;  // held
    }
    kernels[reply.key] = std::move(entry);
  }

  Result<std::unique_ptr<PreparedLayer>> layer(std::size_t index, Arch arch) const {
    auto made = std::make_unique<PreparedLayer>();
    made->spec = layers[index];
    made->arch = arch;
    made->rows = tables[index].rows;
    if (made->rows.empty()) return broken("no table for layer \"" + std::to_string(index) + "\"");
    for (const KernelKey& key : tables[index].kernels) {
      const auto found = kernels.find(key);
      if (found == kernels.end() || found->second.kernel == nullptr) {
        return broken("no kernel \"" + key.short_hex() + "\", which the table of layer \"" + std::to_string(index) +
                      "\" names");
      }
      made->kernels.push_back(found->second);
    }
    return made;
  }
};

}  // namespace

const LaunchRow& PreparedLayer::row_of(std::uint32_t m) const {
  return *std::lower_bound(rows.begin(), rows.end(), m,
                           [](const LaunchRow& row, std::uint32_t value) { return row.m_last < value; });
}

std::uint64_t PreparedLayer::workspace_bytes(std::uint32_t m) const {
  const auto of_row = [this](const LaunchRow& row, std::uint32_t tokens) -> std::uint64_t {
    const KernelInfo& info = kernels[row.kernel].kernel->info;
    if (info.launch_abi == kMappedLaunchAbi) return 0;  // sums stay in the cluster
    return cubind::workspace_bytes(info.tile_m, info.tile_n, row.splits, spec.n, tokens);
  };
  if (m > spec.max_m) return 0;
  if (m > 0) return of_row(row_of(m), m);
  std::uint64_t most = 0;
  for (const LaunchRow& row : rows) most = std::max<std::uint64_t>(most, of_row(row, row.m_last));
  return most;
}

Result<std::vector<std::unique_ptr<PreparedLayer>>> prepare_layers(Client& client, KernelCache& cache,
                                                                   const std::vector<LayerSpec>& layers,
                                                                   const PrepareOptions& options) {
  KernelsRequest request = request_of(layers, options);
  const auto held = cache.all();  // kept alive until the layers have them
  for (const auto& kernel : held) request.held.push_back(kernel->key);
  Collector collector{cache, layers, std::vector<TableReply>(layers.size()), {}, {}};
  KernelsCallbacks callbacks;
  callbacks.table = [&](const TableReply& table) { collector.take(table); };
  callbacks.kernel = [&](const KernelReply& reply, Bytes code) { collector.take(reply, std::move(code)); };
  callbacks.progress = options.progress;
  CUBIND_CHECK(client.kernels(std::move(request), callbacks, options.deadline));
  if (collector.failure) return *collector.failure;
  std::vector<std::unique_ptr<PreparedLayer>> made;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CUBIND_TRY(auto layer, collector.layer(i, options.arch));
    made.push_back(std::move(layer));
  }
  return made;
}

Result<SummaryReply> prewarm_layers(Client& client, const std::vector<LayerSpec>& layers, const PrepareOptions& options,
                                    Error* failure) {
  KernelsRequest request = request_of(layers, options);
  request.priority = Priority::prewarm;
  request.with_code = false;
  request.whole_catalogue = true;
  KernelsCallbacks callbacks;
  bool failed = false;
  callbacks.kernel = [&](const KernelReply& reply, const Bytes&) {
    if (reply.code == ErrorCode::ok || reply.code == ErrorCode::pending || failed || failure == nullptr) return;
    failed = true;
    *failure = kernel_error(reply);
  };
  callbacks.progress = options.progress;
  return client.kernels(std::move(request), callbacks, options.deadline);
}

}  // namespace cubind
