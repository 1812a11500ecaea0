#include "bench/service/kernel_in_hand.hpp"

#include <optional>
#include <utility>

#include "bench/service/example_model.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind::bench {

KernelsRequest request_of_kernel(const KernelSpec& kernel) {
  auto request = request_of({});
  request.kernels.push_back(kernel);
  return request;
}

Result<KernelInHand> get_kernel(Client& client, const KernelsRequest& request) {
  std::optional<KernelInHand> kernel;
  KernelsCallbacks callbacks;
  callbacks.kernel = [&](const KernelReply& reply, Bytes code) { kernel = KernelInHand{reply, std::move(code)}; };
  CUBIND_TRY(const auto summary, client.kernels(request, callbacks));
  if (!kernel || summary.total != 1) {
    return Error{ErrorCode::internal,
                 "a request for one kernel was answered with \"" + std::to_string(summary.total) + "\" of them"};
  }
  if (kernel->reply.code != ErrorCode::ok) return Error{kernel->reply.code, kernel->reply.message};
  return std::move(*kernel);
}

std::vector<KernelSpec> kernels_like(const GemmDescriptor& model, Arch arch) {
  std::vector<KernelSpec> kernels;
  for (const auto type : {DType::bf16, DType::f16}) {
    for (const auto group : {128u, 64u, 32u}) {
      for (const auto zero_point : {ZeroPointKind::none, ZeroPointKind::integer}) {
        auto descriptor = model;
        descriptor.activation = descriptor.output = descriptor.weight_scale_type = type;
        descriptor.group_k = group;
        descriptor.zero_point = zero_point;
        const auto configs = reachable(descriptor, arch, kMaxM);
        if (!configs.ok()) continue;
        for (const auto& config : *configs) kernels.push_back({descriptor, config_name(config)});
      }
    }
  }
  return kernels;
}

Result<std::vector<std::string>> catalogue_of(const LayerSpec& layer) {
  CUBIND_TRY(const auto configs, reachable(layer.descriptor, kArch, layer.max_m));
  std::vector<std::string> names;
  for (const auto& config : configs) names.push_back(config_name(config));
  return names;
}

}  // namespace cubind::bench
