// The options of every compile, in order. Pure. They are ingredients of the key, so a change here voids every record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "codegen/nvrtc/toolchain.hpp"

namespace cubind {

// The one name that every unit is compiled under: it ends up in mangled names, so it must not vary.
inline constexpr char kProgramName[] = "kernel.cu";
// What a zygote compiles once before it serves: another name, so that tools that count compiles can tell.
inline constexpr char kWarmupProgramName[] = "warmup.cu";

// All but the seed.
std::vector<std::string> compile_options(const Toolchain& toolchain, Arch arch);

// Derived from the key of everything else, so that two machines pass the same; nothing for versions that have no such
// option (their output does not vary without it either).
std::optional<std::string> seed_option(const Toolchain& toolchain, const Digest& key);

}  // namespace cubind
