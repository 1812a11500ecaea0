#include "client/model/hf_config.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "client/model/in_quotes.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;
constexpr std::uint32_t kMaxLayers = 1024;
constexpr std::uint32_t kMaxHeads = 16384;
constexpr std::uint32_t kMaxExperts = 65536;

Error bad(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

Result<json> parse_json(std::string_view text, const std::string& what) {
  if (text.size() > limits::kMaxModelConfigBytes) {
    return bad(what + " has \"" + std::to_string(text.size()) + "\" bytes: at most " +
               std::to_string(limits::kMaxModelConfigBytes));
  }
  bool too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;  // what is deeper is dropped, not built
  };
  json document;
  try {
    document = json::parse(text, watch);
  } catch (const json::parse_error& error) {
    return bad(what + " is not JSON: it breaks at byte " + std::to_string(error.byte));
  } catch (const json::exception&) {  // a number out of range
    return bad(what + " is not JSON that can be read: a number is out of range");
  }
  if (too_deep) return bad(what + " is nested more than " + std::to_string(kMaxDepth) + " deep");
  if (!document.is_object()) return bad(what + " is not a JSON object");
  return document;
}

// Null counts as missing.
const json* find(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

// Keys are looked up in the text model's object first, then at the top.
struct Scope {
  const json& text;
  const json& top;
  const json* find(const char* key) const {
    const json* inner = cubind::find(text, key);
    return inner != nullptr ? inner : cubind::find(top, key);
  }
};

std::string shown(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return in_quotes("{...}");
  if (value.is_array()) return in_quotes("[...]");
  return in_quotes(value.dump());
}

// Leaves `out` alone if the key is missing.
Status read_number(const Scope& scope, const char* key, std::uint32_t most, std::uint32_t& out) {
  const json* value = scope.find(key);
  if (value == nullptr) return {};
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() == 0 || value->get<std::uint64_t>() > most) {
    return bad(std::string(key) + " " + shown(*value) + " is not an integer from 1 to " + std::to_string(most));
  }
  out = value->get<std::uint32_t>();
  return {};
}

Status read_flag(const Scope& scope, const char* key, std::optional<bool>& out) {
  const json* value = scope.find(key);
  if (value == nullptr) return {};
  if (!value->is_boolean()) return bad(std::string(key) + " " + shown(*value) + " is not true or false");
  out = value->get<bool>();
  return {};
}

Status read_flag(const Scope& scope, const char* key, bool& out) {
  std::optional<bool> flag;
  CUBIND_CHECK(read_flag(scope, key, flag));
  out = flag.value_or(out);
  return {};
}

// A string or an integer, as text: `bits` is 4 in one file and "q4_k_m" in another.
Status read_text(const Scope& scope, const char* key, std::string& out) {
  const json* value = scope.find(key);
  if (value == nullptr) return {};
  if (value->is_string()) {
    out = value->get<std::string>();
  } else if (value->is_number_integer()) {
    out = value->dump();
  } else {
    return bad(std::string(key) + " " + shown(*value) + " is neither text nor an integer");
  }
  return {};
}

// Lists of names, also nested ones (modules_in_block_to_quantize), also the keys of an object (quantized_layers).
Status read_names(const json& value, const char* key, std::vector<std::string>& out) {
  if (value.is_object()) {
    for (const auto& [name, unused] : value.items()) out.push_back(name);
  } else if (value.is_array()) {
    for (const auto& entry : value) {
      if (entry.is_string()) {
        out.push_back(entry.get<std::string>());
      } else if (entry.is_array()) {
        CUBIND_CHECK(read_names(entry, key, out));
      } else {
        return bad(std::string(key) + " holds " + shown(entry) + ": it is a list of module names");
      }
    }
  } else {
    return bad(std::string(key) + " " + shown(value) + " is not a list of module names");
  }
  if (out.size() > limits::kMaxModuleNames) {
    return bad(std::string(key) + " has more than " + std::to_string(limits::kMaxModuleNames) + " entries");
  }
  return {};
}

Result<QuantizationBlock> read_block(const json& object, std::string where) {
  if (!object.is_object()) return bad(where + " " + shown(object) + " is not a JSON object");
  const Scope scope{object, object};
  QuantizationBlock block;
  block.where = std::move(where);
  CUBIND_CHECK(read_text(scope, "quant_method", block.method));
  if (block.method.empty()) CUBIND_CHECK(read_text(scope, "quant_algo", block.method));
  CUBIND_CHECK(read_text(scope, "bits", block.bits));
  CUBIND_CHECK(read_text(scope, "group_size", block.group_size));
  CUBIND_CHECK(read_text(scope, "version", block.version));
  CUBIND_CHECK(read_text(scope, "checkpoint_format", block.checkpoint_format));
  CUBIND_CHECK(read_flag(scope, "zero_point", block.zero_point));
  CUBIND_CHECK(read_flag(scope, "sym", block.sym));
  CUBIND_CHECK(read_flag(scope, "desc_act", block.desc_act));
  CUBIND_CHECK(read_flag(scope, "lm_head", block.lm_head));
  if (const json* dynamic = find(object, "dynamic")) block.per_module_overrides = !dynamic->empty();
  for (const char* key : {"ignore", "modules_to_not_convert", "ignored_layers", "exclude", "exclude_modules"}) {
    if (const json* names = find(object, key)) CUBIND_CHECK(read_names(*names, key, block.not_quantized));
  }
  for (const char* key : {"modules_in_block_to_quantize", "quantized_layers"}) {
    if (const json* names = find(object, key)) CUBIND_CHECK(read_names(*names, key, block.only_quantized));
  }
  return block;
}

Result<std::optional<QuantizationBlock>> find_block(const json& top, const json& text, std::string_view side) {
  std::optional<QuantizationBlock> out;
  if (const json* block = find(top, "quantization_config")) {
    CUBIND_TRY(out, read_block(*block, "quantization_config"));
  } else if (const json* inner = find(text, "quantization_config")) {
    CUBIND_TRY(out, read_block(*inner, "text_config.quantization_config"));
  } else if (!side.empty()) {
    CUBIND_TRY(const json document, parse_json(side, "hf_quant_config.json"));
    const json* quantization = find(document, "quantization");
    CUBIND_TRY(out, read_block(quantization != nullptr ? *quantization : document, "hf_quant_config.json"));
  }
  return out;
}

Result<std::string> read_file(const std::string& path) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (std::filesystem::is_directory(status))
    return bad("model config " + in_quotes(path, 4096) + " is a folder: name the file");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    const auto kind = error == EACCES ? ErrorCode::permission_denied : ErrorCode::not_found;
    return Error{kind, "model config " + in_quotes(path, 4096) + " cannot be read: " + std::strerror(error)};
  }
  std::string text(limits::kMaxModelConfigBytes + 1, '\0');  // one more than allowed: parse_json then refuses it
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<HfConfig> parse_hf_config(std::string_view text, std::string_view side) {
  CUBIND_TRY(const json top, parse_json(text, "model config"));
  const bool is_side_file = find(top, "quantization") != nullptr && find(top, "hidden_size") == nullptr &&
                            find(top, "quantization_config") == nullptr;
  if (is_side_file) {
    return bad(
        "model config holds only \"quantization\": it is a hf_quant_config.json, name the config.json beside it");
  }
  const json* nested = find(top, "text_config");
  if (nested != nullptr && !nested->is_object()) return bad("text_config " + shown(*nested) + " is not a JSON object");
  const Scope scope{nested != nullptr ? *nested : top, top};

  HfConfig config;
  CUBIND_TRY(config.quantization, find_block(top, scope.text, side));
  CUBIND_CHECK(read_text(scope, "model_type", config.model_type));
  if (const json* names = scope.find("architectures")) {
    std::vector<std::string> architectures;
    CUBIND_CHECK(read_names(*names, "architectures", architectures));
    if (!architectures.empty()) config.architecture = architectures.front();
  }
  CUBIND_CHECK(read_number(scope, "hidden_size", limits::kMaxNK, config.hidden_size));
  CUBIND_CHECK(read_number(scope, "intermediate_size", limits::kMaxNK, config.intermediate_size));
  CUBIND_CHECK(read_number(scope, "num_hidden_layers", kMaxLayers, config.layers));
  CUBIND_CHECK(read_number(scope, "num_attention_heads", kMaxHeads, config.heads));
  config.kv_heads = config.heads;
  CUBIND_CHECK(read_number(scope, "num_key_value_heads", kMaxHeads, config.kv_heads));
  CUBIND_CHECK(read_number(scope, "vocab_size", limits::kMaxNK, config.vocab_size));
  CUBIND_CHECK(read_number(scope, "head_dim", limits::kMaxNK, config.head_dim));
  CUBIND_CHECK(read_flag(scope, "tie_word_embeddings", config.tied_embeddings));
  CUBIND_CHECK(read_flag(scope, "attention_bias", config.attention_bias));
  CUBIND_CHECK(read_flag(scope, "mlp_bias", config.mlp_bias));
  CUBIND_CHECK(read_text(scope, scope.find("torch_dtype") != nullptr ? "torch_dtype" : "dtype", config.dtype));
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    const json* value = scope.find(key);
    if (value == nullptr || *value == 0 || config.experts != 0) continue;
    CUBIND_CHECK(read_number(scope, key, kMaxExperts, config.experts));
    config.experts_key = key;
  }
  if (const json* value = scope.find("first_k_dense_replace"); value != nullptr && *value != 0) {
    CUBIND_CHECK(read_number(scope, "first_k_dense_replace", kMaxLayers, config.dense_layers));
  }
  config.latent_attention = scope.find("kv_lora_rank") != nullptr;
  return config;
}

Result<HfConfig> read_hf_config(const std::string& path) {
  CUBIND_TRY(const std::string text, read_file(path));
  const std::filesystem::path file(path);
  const std::string name = file.filename().string();
  const std::string stem = file.stem().string();
  const auto side_path = file.parent_path() /
                         (name == "config.json" ? std::string("hf_quant_config.json") : stem + ".hf_quant_config.json");
  std::string side;
  std::error_code code;
  if (std::filesystem::is_regular_file(side_path, code)) {
    CUBIND_TRY(side, read_file(side_path.string()));
  }
  auto config = parse_hf_config(text, side);
  if (!config.ok()) {
    return Error{config.error().code, in_quotes(path, 4096) + ": " + config.error().message};
  }
  return config;
}

}  // namespace cubind
