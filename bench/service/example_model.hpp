// The example model's quantized layers, as an engine on one rank asks for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "protocol/messages.hpp"

namespace cubind::bench {

inline constexpr std::uint32_t kMaxM = 8192;
inline constexpr std::uint32_t kSmCount = 132;  // of an H200
inline constexpr Arch kArch{90, '\0'};

Result<std::vector<LayerSpec>> model_layers(const std::string& config_file);

// A request for layers; the client fills in id and deadline.
KernelsRequest request_of(std::vector<LayerSpec> layers);

}  // namespace cubind::bench
