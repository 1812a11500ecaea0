#include "tests/support/gpu/whole_catalogue.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "protocol/kernel_abi.hpp"

namespace cubind::test {

Result<WholeCatalogue> fetch_catalogue(Client& client, const std::vector<LayerSpec>& layers,
                                       const cuda::DeviceTarget& device) {
  WholeCatalogue fetched;
  KernelsRequest request;
  request.arch = device.arch;
  request.sm_count = device.sm_count;
  request.launch_abi = kLaunchAbis;
  request.weight_layout = kWeightLayouts;
  request.whole_catalogue = true;
  request.layers = layers;
  std::optional<Error> failure;
  KernelsCallbacks callbacks;
  callbacks.table = [&](const TableReply& table) { fetched.tables.push_back(table); };
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
    fetched.kernels.push_back(std::move(kernel));
  };
  CUBIND_CHECK(client.kernels(std::move(request), callbacks));
  if (failure) return *failure;
  return fetched;
}

std::string config_of(const PreparedKernel& kernel) {
  return kernel.info.name.substr(kernel.info.name.rfind('-') + 1);
}

bool can_split(const KernelInfo& info, std::uint32_t splits) {
  return info.launch_abi != kMappedLaunchAbi || cluster_exists(info.tile_m, info.tile_n, splits);
}

PreparedLayer single_kernel_layer(const LayerSpec& spec, const PreparedKernelPtr& kernel, std::uint32_t splits) {
  const std::uint32_t k_tiles = (spec.k + kernel->info.tile_k - 1) / kernel->info.tile_k;
  PreparedLayer layer;
  layer.spec = spec;
  layer.rows = {{1, spec.max_m, 0, splits, (k_tiles + splits - 1) / splits}};
  layer.kernels = {{kernel, Outcome::none}};
  return layer;
}

}  // namespace cubind::test
