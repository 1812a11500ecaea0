#include "client/model/model_layers.hpp"

#include "client/model/in_quotes.hpp"
#include "client/model/module_patterns.hpp"
#include "client/model/quantization.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

// Dense decoders with q, k, v, o and gate, up, down projections; phi3 stores the first three and the two already
// merged.
struct Family {
  const char* model_type;
  const char* architecture;
  bool qkv_bias;  // always there, without a key that says so
  bool stored_merged;
};
constexpr Family kFamilies[] = {
    {"llama", "LlamaForCausalLM", false, false}, {"mistral", "MistralForCausalLM", false, false},
    {"qwen2", "Qwen2ForCausalLM", true, false},  {"qwen3", "Qwen3ForCausalLM", false, false},
    {"phi3", "Phi3ForCausalLM", false, true},
};

Error unsupported(std::string message) {
  return {ErrorCode::not_supported, std::move(message)};
}
Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}
std::string layer_prefix(std::uint32_t index) {
  return "model.layers." + std::to_string(index) + ".";
}
std::string value_of(std::uint32_t value) {
  return "\"" + std::to_string(value) + "\"";
}

// Which modules are quantized, by the block's lists.
struct Coverage {
  ModulePatterns skipped, only;
  bool covers(const std::string& module) const {
    return !skipped.matches(module) && (only.empty() || only.matches(module));
  }
};

Result<Coverage> coverage_of(const QuantizationBlock& block) {
  CUBIND_TRY(auto skipped, ModulePatterns::make(block.not_quantized));
  CUBIND_TRY(auto only, ModulePatterns::make(block.only_quantized));
  return Coverage{std::move(skipped), std::move(only)};
}

// The first module, in the order of a forward pass, that a refused format touches; empty if no usual name is.
std::string first_touched(const HfConfig& config, const Coverage& coverage) {
  for (std::uint32_t i = 0; i < config.layers; ++i) {
    const bool experts = config.experts > 0 && i >= config.dense_layers;
    std::vector<const char*> modules;
    if (config.latent_attention) {
      modules = {"self_attn.q_a_proj", "self_attn.kv_a_proj_with_mqa", "self_attn.kv_b_proj"};
    } else {
      modules = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
    }
    modules.push_back("self_attn.o_proj");
    if (experts) {
      modules.push_back("mlp.experts");
    } else {
      for (const char* name : {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) modules.push_back(name);
    }
    for (const char* name : modules) {
      const std::string module = layer_prefix(i) + name;
      if (coverage.covers(module)) return module;
    }
  }
  return {};
}

Result<Family> family_of(const HfConfig& config) {
  if (config.experts > 0) {
    return unsupported("layer " + layer_prefix(config.dense_layers) + "mlp.experts: " + config.experts_key + " " +
                       value_of(config.experts) + " is not supported: dense models are");
  }
  if (config.latent_attention) {
    return unsupported(
        "layer " + layer_prefix(0) +
        "self_attn.kv_b_proj: latent attention (kv_lora_rank) is not supported: q, k and v projections are");
  }
  for (const auto& family : kFamilies) {
    if (config.model_type == family.model_type) return family;
    if (config.model_type.empty() && config.architecture == family.architecture) return family;
  }
  std::string served;
  for (const auto& family : kFamilies) served += (served.empty() ? "" : ", ") + std::string(family.model_type);
  const bool by_type = !config.model_type.empty() || config.architecture.empty();
  return unsupported(
      (by_type ? "model_type " + in_quotes(config.model_type) : "architecture " + in_quotes(config.architecture)) +
      " is not supported: " + served + " are");
}

Status require_sizes(const HfConfig& config) {
  const struct {
    const char* key;
    std::uint32_t value;
  } sizes[] = {{"hidden_size", config.hidden_size},
               {"intermediate_size", config.intermediate_size},
               {"num_hidden_layers", config.layers},
               {"num_attention_heads", config.heads}};
  for (const auto& size : sizes) {
    if (size.value == 0) return invalid(std::string(size.key) + " is missing from the model config");
  }
  if (config.head_dim == 0 && config.hidden_size % config.heads != 0) {
    return invalid("hidden_size " + value_of(config.hidden_size) + " is not a multiple of num_attention_heads " +
                   value_of(config.heads) + ", and there is no head_dim");
  }
  return {};
}

// One fused GEMM of a decoder layer: the checkpoint's modules, and its shape on one rank.
struct FusedGemm {
  const char* name;
  std::vector<const char*> members;
  std::uint64_t n = 0, k = 0;
  bool bias = false;
  bool split_along_k = false;
};

Result<std::vector<FusedGemm>> decoder_gemms(const HfConfig& config, const Family& family, std::uint32_t tp) {
  const std::uint64_t head_dim = config.head_dim != 0 ? config.head_dim : config.hidden_size / config.heads;
  const auto indivisible = [&](const char* layer, const char* key, std::uint32_t value) {
    return unsupported(std::string("layer ") + layer + ": " + key + " " + value_of(value) + " is not divisible by tp " +
                       value_of(tp));
  };
  if (config.heads % tp != 0) return indivisible("qkv_proj", "num_attention_heads", config.heads);
  const bool divided = config.kv_heads % tp == 0;
  if (!divided && tp % config.kv_heads != 0) {
    return unsupported("layer qkv_proj: num_key_value_heads " + value_of(config.kv_heads) +
                       " can be neither divided among nor replicated over tp " + value_of(tp));
  }
  if (config.intermediate_size % tp != 0) {
    return indivisible("gate_up_proj", "intermediate_size", config.intermediate_size);
  }
  const std::uint64_t heads = config.heads / tp;
  const std::uint64_t kv_heads = divided ? config.kv_heads / tp : 1;
  const std::uint64_t hidden = config.hidden_size, intermediate = config.intermediate_size / tp;

  std::vector<FusedGemm> gemms(4);
  gemms[0] = {"qkv_proj",
              {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
              (heads + 2 * kv_heads) * head_dim,
              hidden,
              family.qkv_bias || config.attention_bias,
              false};
  gemms[1] = {"o_proj", {"self_attn.o_proj"}, hidden, heads * head_dim, config.attention_bias, true};
  gemms[2] = {"gate_up_proj", {"mlp.gate_proj", "mlp.up_proj"}, 2 * intermediate, hidden, config.mlp_bias, false};
  gemms[3] = {"down_proj", {"mlp.down_proj"}, hidden, intermediate, config.mlp_bias, true};
  if (family.stored_merged) {
    gemms[0].members = {"self_attn.qkv_proj"};
    gemms[2].members = {"mlp.gate_up_proj"};
  }
  for (const auto& gemm : gemms) {
    if (gemm.n > limits::kMaxNK || gemm.k > limits::kMaxNK) {
      return invalid(std::string("layer ") + gemm.name + ": \"" + std::to_string(gemm.n) + " x " +
                     std::to_string(gemm.k) + "\" is larger than " + std::to_string(limits::kMaxNK));
    }
  }
  return gemms;
}

Status check_shape(const FusedGemm& gemm, const GemmDescriptor& descriptor, std::uint32_t tp) {
  const std::uint32_t group = descriptor.group_k;
  if (group != 0 && gemm.k % group != 0) {
    const std::uint64_t ranks = gemm.split_along_k ? tp : 1;
    const std::uint64_t padded = (gemm.k + group - 1) / group * group * ranks;
    return unsupported(std::string("layer ") + gemm.name + ": k \"" + std::to_string(gemm.k) + "\"" +
                       (ranks > 1 ? " of each of " + std::to_string(ranks) + " ranks" : std::string()) +
                       " is not a multiple of group_size \"" + std::to_string(group) +
                       "\"; a model whose k is padded to " + std::to_string(padded) + " would fit");
  }
  const auto status =
      validate_shape(descriptor, static_cast<std::uint32_t>(gemm.n), static_cast<std::uint32_t>(gemm.k));
  if (status.ok()) return {};
  return Error{status.error().code, std::string("layer ") + gemm.name + ": " + status.error().message};
}

// In how many decoder layers a fused GEMM is quantized. Its members must agree: half a merged matrix cannot be 4 bits.
Result<std::uint32_t> count_quantized(const FusedGemm& gemm, const Coverage& coverage, std::uint32_t layers) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < layers; ++i) {
    const bool first = coverage.covers(layer_prefix(i) + gemm.members.front());
    for (const char* member : gemm.members) {
      if (coverage.covers(layer_prefix(i) + member) == first) continue;
      return unsupported("layer " + layer_prefix(i) + member + ": is " + (first ? "not " : "") + "quantized but " +
                         gemm.members.front() + " is" + (first ? "" : " not") + ": " + gemm.name + " merges them");
    }
    count += first ? 1 : 0;
  }
  return count;
}

}  // namespace

Result<std::vector<ModelLayer>> quantized_layers(const HfConfig& config, const ModelOptions& options) {
  if (options.tp == 0 || options.tp > limits::kMaxTensorParallel) {
    return invalid("tp " + value_of(options.tp) + " is not from 1 to " + std::to_string(limits::kMaxTensorParallel));
  }
  if (!config.quantization) {
    return unsupported(
        "the model is not quantized: there is no quantization_config at the top, in text_config or in "
        "hf_quant_config.json");
  }
  CUBIND_TRY(const Coverage coverage, coverage_of(*config.quantization));
  const std::string& dtype = options.dtype.empty() ? config.dtype : options.dtype;
  auto format = descriptor_of(*config.quantization, DType::f16);
  if (!format.ok()) {
    const std::string layer = first_touched(config, coverage);
    return Error{format.error().code, (layer.empty() ? "" : "layer " + layer + ": ") + format.error().message};
  }
  CUBIND_TRY(const Family family, family_of(config));
  CUBIND_CHECK(require_sizes(config));
  CUBIND_TRY(const DType activation, activation_type(dtype));
  CUBIND_TRY(GemmDescriptor descriptor, descriptor_of(*config.quantization, activation));

  CUBIND_TRY(auto gemms, decoder_gemms(config, family, options.tp));
  std::vector<ModelLayer> layers;
  for (const auto& gemm : gemms) {
    CUBIND_TRY(const std::uint32_t count, count_quantized(gemm, coverage, config.layers));
    if (count == 0) continue;
    descriptor.bias = gemm.bias;
    CUBIND_CHECK(check_shape(gemm, descriptor, options.tp));
    layers.push_back(
        {gemm.name, count, static_cast<std::uint32_t>(gemm.n), static_cast<std::uint32_t>(gemm.k), descriptor});
  }

  // Only GPTQ can say that the output head is quantized; a tied one is the embedding table, which never is.
  if (config.quantization->lm_head.value_or(false) && !config.tied_embeddings && !coverage.skipped.matches("lm_head")) {
    if (config.vocab_size == 0) return invalid("vocab_size is missing from the model config, and lm_head is quantized");
    if (config.vocab_size % options.tp != 0) {
      return unsupported("layer lm_head: vocab_size " + value_of(config.vocab_size) + " is not divisible by tp " +
                         value_of(options.tp));
    }
    const FusedGemm head{"lm_head", {"lm_head"}, config.vocab_size / options.tp, config.hidden_size, false, false};
    descriptor.bias = false;
    CUBIND_CHECK(check_shape(head, descriptor, options.tp));
    layers.push_back({"lm_head", 1, config.vocab_size / options.tp, config.hidden_size, descriptor});
  }
  if (layers.empty()) return unsupported("the model has no quantized layer: its lists leave none");
  return layers;
}

}  // namespace cubind
