#include "codegen/cache_key.hpp"

#include "codegen/embedded_headers.hpp"
#include "codegen/emit/emit_gemm.hpp"
#include "codegen/key_fields.hpp"
#include "codegen/nvrtc/options.hpp"
#include "codegen/plan/planner.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind {

std::uint32_t launch_abi_of(const GemmConfig& config) {
  return config.kernel == GemmKernel::wgmma ? kMappedLaunchAbi : kPlainLaunchAbi;
}

Result<KeyedUnit> make_keyed_unit(const GemmDescriptor& descriptor, const GemmConfig& config, Arch arch,
                                  const Toolchain& toolchain) {
  if (!compiles_for(toolchain, arch)) {
    return Error{ErrorCode::not_supported,
                 "arch \"" + to_string(arch) + "\" is not a target of toolchain \"" + toolchain.id + "\""};
  }
  const auto canonical_descriptor = canonical(descriptor);
  KeyedUnit keyed;
  auto& unit = keyed.unit;
  unit.name = short_name(canonical_descriptor) + "-" + config_name(config);
  unit.arch = arch;
  unit.toolchain = toolchain.id;
  unit.source = emit_gemm(config);
  CUBIND_TRY(const auto closure, include_closure(unit.source));
  for (const auto* header : closure) unit.headers.emplace_back(header->name, header->text);
  unit.options = compile_options(toolchain, arch);

  KeyFields fields;
  fields.family = "gemm";
  fields.descriptor = to_string(canonical_descriptor);
  fields.config = config_text(config);
  fields.arch = to_string(arch);
  fields.nvrtc_version = version_text(toolchain);
  fields.nvrtc_build_id = toolchain.build_id;
  fields.builtins_build_id = toolchain.builtins_build_id;
  fields.source = sha256(as_bytes(unit.source)).hex();
  fields.headers = headers_digest(unit.headers).hex();
  fields.options = unit.options;
  fields.program = kProgramName;
  fields.launch_abi = launch_abi_of(config);
  fields.weight_layout = kWeightLayout;
  const auto hasher = hash_fields(fields);
  unit.key = hasher.finish();
  keyed.ingredients = hasher.ingredients();
  if (auto seed = seed_option(toolchain, unit.key)) unit.options.push_back(std::move(*seed));
  return keyed;
}

}  // namespace cubind
