// A Hugging Face config.json (and the hf_quant_config.json that some publishers put beside it) as a plain struct: what
// shapes and quantization depend on, found where the publishers put it. Knows JSON and spellings; what the numbers
// mean for kernels is quantization.hpp and model_layers.hpp.
//
// Input is untrusted: bounded in size, depth and every number (limits below), and errors quote at most 64 characters of
// it. A key that is null counts as missing. Pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cubind {

// Where a value may be: at the top, in text_config, or in the side file.
struct QuantizationBlock {
  std::string where;   // "quantization_config", "text_config.quantization_config", "hf_quant_config.json"
  std::string method;  // quant_method, else quant_algo; empty if neither is there
  // As written, numbers as their decimal text; empty if missing.
  std::string bits, group_size, version, checkpoint_format;
  std::optional<bool> zero_point, sym, desc_act, lm_head;
  bool per_module_overrides = false;        // GPTQModel's `dynamic` has entries
  std::vector<std::string> not_quantized;   // ignore, modules_to_not_convert, ignored_layers, exclude, exclude_modules
  std::vector<std::string> only_quantized;  // the inverse: modules_in_block_to_quantize, quantized_layers
};

struct HfConfig {
  std::string model_type;    // of the text model
  std::string architecture;  // the first of `architectures`
  std::uint32_t hidden_size = 0, intermediate_size = 0, layers = 0, heads = 0, kv_heads = 0, vocab_size = 0;
  std::uint32_t head_dim = 0;  // its own key, else hidden_size / heads
  bool tied_embeddings = false;
  bool attention_bias = false, mlp_bias = false;
  std::string dtype;               // torch_dtype or dtype as written; empty if missing
  std::string experts_key;         // the key that says there are experts; empty for dense models
  std::uint32_t experts = 0;       // its value
  std::uint32_t dense_layers = 0;  // first_k_dense_replace
  bool latent_attention = false;   // kv_lora_rank: no q, k, v projections of the usual shape
  std::optional<QuantizationBlock> quantization;
};

// `side` is the text of hf_quant_config.json, empty if there is none. invalid_argument names key, value and rule.
// A config without quantization or without sizes is read as far as it goes: `require` of model_layers.cpp refuses it.
Result<HfConfig> parse_hf_config(std::string_view text, std::string_view side);

// Reads the file, and the side file beside it if there is one: hf_quant_config.json beside config.json,
// NAME.hf_quant_config.json beside NAME.json. not_found or permission_denied name the file.
Result<HfConfig> read_hf_config(const std::string& path);

}  // namespace cubind
