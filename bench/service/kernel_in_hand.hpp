// One kernel asked for and waited for.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/client.hpp"
#include "protocol/messages.hpp"

namespace cubind::bench {

struct KernelInHand {
  KernelReply reply;
  Bytes code;
};

// A request for one kernel, for kArch.
KernelsRequest request_of_kernel(const KernelSpec& kernel);

// The request's only kernel; its own code and message if there is none.
Result<KernelInHand> get_kernel(Client& client, const KernelsRequest& request);

// Some dozens of kernels like `model`'s, each with a key of its own; none where the architecture serves no such thing.
std::vector<KernelSpec> kernels_like(const GemmDescriptor& model, Arch arch);

// The names of all configs that `layer` can use, on kArch.
Result<std::vector<std::string>> catalogue_of(const LayerSpec& layer);

}  // namespace cubind::bench
