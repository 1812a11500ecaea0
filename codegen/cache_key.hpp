// The kernel key: SHA-256 over everything the cubin depends on, as named fields (base/digest.hpp). docs/cache-key.md
// lists each ingredient and why it is in. Never a path, a time, a host name, a locale.
#pragma once

#include <string>
#include <vector>

#include "base/digest.hpp"
#include "codegen/compiler.hpp"
#include "codegen/device/config.cuh"
#include "codegen/nvrtc/toolchain.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

inline constexpr std::uint32_t kKeySchema = 1;

struct KeyedUnit {
  CompileUnit unit;                     // with its key, and the seed option derived from it
  std::vector<Ingredient> ingredients;  // what was hashed, in order
};

// What its kernel takes and how it is launched: protocol/kernel_abi.hpp.
std::uint32_t launch_abi_of(const GemmConfig& config);

// descriptor -> canonical descriptor, config -> emitted source, headers -> their closure's digest, toolchain ->
// identity, options in order without the seed. `arch` is a code_arch(). Pure, thread-safe; memoise above if hot.
Result<KeyedUnit> make_keyed_unit(const GemmDescriptor& descriptor, const GemmConfig& config, Arch arch,
                                  const Toolchain& toolchain);

}  // namespace cubind
