#include "client/model/quantization.hpp"

#include <charconv>

#include "client/model/in_quotes.hpp"

namespace cubind {

namespace {

constexpr const char* kServed = "awq and gptq with 4 bits are";

Error refused(const QuantizationBlock& block, const char* key, std::string_view value, std::string_view rule) {
  return {ErrorCode::not_supported,
          block.where + " " + key + " " + in_quotes(value) + " is not supported: " + std::string(rule)};
}

// 0 for one group a column: null, 0 and -1 all say that.
Result<std::uint32_t> group_of(const QuantizationBlock& block) {
  if (block.group_size.empty()) return std::uint32_t{0};
  std::int64_t value = 0;
  const char* end = block.group_size.data() + block.group_size.size();
  const auto parsed = std::from_chars(block.group_size.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < -1 || value > (1 << 20)) {
    return Error{ErrorCode::invalid_argument,
                 block.where + " group_size " + in_quotes(block.group_size) + " is not an integer from -1 to 1048576"};
  }
  return static_cast<std::uint32_t>(value <= 0 ? 0 : value);
}

}  // namespace

Result<GemmDescriptor> descriptor_of(const QuantizationBlock& block, DType activation) {
  if (block.method.empty()) {
    return Error{ErrorCode::not_supported, block.where + " has neither quant_method nor quant_algo: " + kServed};
  }
  const bool awq = block.method == "awq", gptq = block.method == "gptq";
  if (!awq && !gptq) {
    return refused(block, block.where == "hf_quant_config.json" ? "quant_algo" : "quant_method", block.method, kServed);
  }
  if (block.bits != "4") return refused(block, "bits", block.bits, kServed);

  GemmDescriptor descriptor;
  descriptor.weight = DType::int4;
  descriptor.activation = descriptor.output = descriptor.weight_scale_type = activation;
  CUBIND_TRY(descriptor.group_k, group_of(block));
  descriptor.weight_scale = descriptor.group_k == 0 ? ScaleKind::channel : ScaleKind::group;
  if (awq) {
    if (!block.version.empty() && block.version != "gemm") return refused(block, "version", block.version, "gemm is");
    descriptor.zero_point = block.zero_point.value_or(true) ? ZeroPointKind::integer : ZeroPointKind::none;
  } else {
    if (!block.checkpoint_format.empty() && block.checkpoint_format != "gptq" && block.checkpoint_format != "gptq_v2") {
      return refused(block, "checkpoint_format", block.checkpoint_format, "gptq and gptq_v2 are");
    }
    if (block.per_module_overrides) {
      return refused(block, "dynamic", "{...}", "one format for all quantized modules is");
    }
    descriptor.zero_point = block.sym.value_or(true) ? ZeroPointKind::none : ZeroPointKind::integer;
  }
  return descriptor;
}

Result<DType> activation_type(std::string_view name) {
  std::string_view bare = name;
  if (bare.starts_with("torch.")) bare.remove_prefix(6);
  if (bare.empty() || bare == "float16" || bare == "f16" || bare == "fp16" || bare == "half") return DType::f16;
  if (bare == "bfloat16" || bare == "bf16") return DType::bf16;
  return Error{ErrorCode::not_supported,
               "dtype " + in_quotes(name) + " is not supported for activations: float16 and bfloat16 are"};
}

}  // namespace cubind
