#include "codegen/key_fields.hpp"

#include "codegen/cache_key.hpp"

namespace cubind {

FieldHasher hash_fields(const KeyFields& fields) {
  FieldHasher hasher;
  hasher.field("key_schema", kKeySchema);
  hasher.field("family", fields.family);
  hasher.field("descriptor", fields.descriptor);
  hasher.field("config", fields.config);
  hasher.field("arch", fields.arch);
  hasher.field("nvrtc_version", fields.nvrtc_version);
  hasher.field("nvrtc_build_id", fields.nvrtc_build_id);
  hasher.field("builtins_build_id", fields.builtins_build_id);
  hasher.field("source_sha256", fields.source);
  hasher.field("headers_sha256", fields.headers);
  hasher.field("program", fields.program);
  for (const auto& option : fields.options) hasher.field("option", option);
  hasher.field("launch_abi", fields.launch_abi);
  hasher.field("weight_layout", fields.weight_layout);
  return hasher;
}

Digest headers_digest(const std::vector<std::pair<std::string_view, std::string_view>>& headers) {
  FieldHasher hasher;
  for (const auto& [name, text] : headers) hasher.field(name, text);
  return hasher.finish();
}

std::string config_text(const GemmConfig& config) {
  std::string text;
  const auto add = [&](std::string_view name, unsigned value) {
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value);
  };
  // The braces of GemmConfig, in its order. A member that is missing here is still in the emitted source.
  add("kernel", static_cast<unsigned>(config.kernel));
  add("activation", static_cast<unsigned>(config.activation));
  add("weight_bits", config.weight_bits);
  add("zero_points", config.zero_points ? 1 : 0);
  add("scale_class", static_cast<unsigned>(config.scale_class));
  add("mma", static_cast<unsigned>(config.mma));
  add("async_copy", config.async_copy ? 1 : 0);
  add("tile_m", config.tile_m);
  add("tile_n", config.tile_n);
  add("tile_k", config.tile_k);
  add("stages", config.stages);
  add("warps_m", config.warps_m);
  add("warps_n", config.warps_n);
  add("warps_k", config.warps_k);
  return text;
}

}  // namespace cubind
