// All kernels of a descriptor's catalogue, as a daemon gives them, and layers that launch one of them however they are
// split: for tests and benches that look at each kernel and not only at the planner's choice.
#pragma once

#include <string>
#include <vector>

#include "client/client.hpp"
#include "client/driver/device.hpp"
#include "client/layer.hpp"

namespace cubind::test {

struct WholeCatalogue {
  std::vector<PreparedKernelPtr> kernels;
  std::vector<TableReply> tables;  // the planner's, of each layer
};

// The first kernel that failed is the error of all.
Result<WholeCatalogue> fetch_catalogue(Client& client, const std::vector<LayerSpec>& layers,
                                       const cuda::DeviceTarget& device);

// The end of its name, as config_name() spells it.
std::string config_of(const PreparedKernel& kernel);

// Whether a kernel can be launched in so many parts along k (protocol/kernel_abi.hpp).
bool can_split(const KernelInfo& info, std::uint32_t splits);

// A table of one row: `kernel` in `splits` parts along k, for every m up to spec.max_m.
PreparedLayer single_kernel_layer(const LayerSpec& spec, const PreparedKernelPtr& kernel, std::uint32_t splits);

}  // namespace cubind::test
