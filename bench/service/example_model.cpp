#include "bench/service/example_model.hpp"

#include <utility>

#include "client/model/model_layers.hpp"

namespace cubind::bench {

Result<std::vector<LayerSpec>> model_layers(const std::string& config_file) {
  CUBIND_TRY(const auto config, read_hf_config(config_file));
  CUBIND_TRY(const auto layers, quantized_layers(config, {}));
  std::vector<LayerSpec> specs;
  for (const auto& layer : layers) specs.push_back({layer.descriptor, layer.n, layer.k, kMaxM});
  return specs;
}

KernelsRequest request_of(std::vector<LayerSpec> layers) {
  KernelsRequest request;
  request.arch = kArch;
  request.sm_count = kSmCount;
  request.launch_abi = kLaunchAbis;
  request.weight_layout = kWeightLayouts;
  request.layers = std::move(layers);
  return request;
}

}  // namespace cubind::bench
