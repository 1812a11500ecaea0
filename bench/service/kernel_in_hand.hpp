// One kernel asked for and waited for.
#pragma once

#include <string>

#include "base/result.hpp"
#include "client/client.hpp"
#include "protocol/messages.hpp"

namespace cubind::bench {

struct KernelInHand {
  KernelReply reply;
  Bytes code;
};

// A request for one kernel of the catalogue, for kArch.
KernelsRequest request_of_kernel(const GemmDescriptor& descriptor, const std::string& config);

// The request's only kernel; its own code and message if there is none.
Result<KernelInHand> get_kernel(Client& client, const KernelsRequest& request);

// The names of all configs that `layer` can use, on kArch.
Result<std::vector<std::string>> catalogue_of(const LayerSpec& layer);

}  // namespace cubind::bench
