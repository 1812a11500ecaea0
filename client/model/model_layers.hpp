// The quantized GEMMs of a model on one rank, as engines run them: q, k, v merged to qkv_proj, gate and up to
// gate_up_proj. Dense decoder models only.
//
// Tensor parallelism over `tp` ranks: qkv_proj and gate_up_proj are split along n (attention heads must divide; key and
// value heads are divided, or replicated if there are fewer than ranks), o_proj and down_proj along k. k of a rank must
// be a whole number of scale groups: padding does not help there, because a group's scale belongs to consecutive k.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/model/hf_config.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

struct ModelLayer {
  std::string name;         // "qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"
  std::uint32_t count = 0;  // decoder layers in which it is quantized
  std::uint32_t n = 0;      // output features of one rank's fused GEMM
  std::uint32_t k = 0;      // input features of one rank
  GemmDescriptor descriptor;
  bool operator==(const ModelLayer&) const = default;
};

struct ModelOptions {
  std::uint32_t tp = 1;
  std::string dtype;  // the activations' type; empty = the config's, else float16
};

// In the order of a forward pass; layers that are not quantized are left out, and a model without a quantized one is
// refused. not_supported or invalid_argument name the layer (where one is at fault), the key, its value and the rule.
Result<std::vector<ModelLayer>> quantized_layers(const HfConfig& config, const ModelOptions& options);

}  // namespace cubind
