// From a quantization block to the descriptor its GEMMs ask for. AWQ and GPTQ with 4 bits are served; everything else
// is refused, naming the key, its value and what is served.
#pragma once

#include <string>

#include "base/result.hpp"
#include "client/model/hf_config.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

// `activation` is f16 or bf16; scales and outputs have the same type. not_supported or invalid_argument.
Result<GemmDescriptor> descriptor_of(const QuantizationBlock& block, DType activation);

// The activations' type: "float16", "bfloat16", "torch.bfloat16", "f16", "half", ... ; f16 if `name` is empty.
// not_supported names the value and what is served.
Result<DType> activation_type(std::string_view name);

}  // namespace cubind
