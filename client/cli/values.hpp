// Values of arguments, from text: each error names the argument, the value and the rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "protocol/messages.hpp"

namespace cubind::cli {

Result<std::uint32_t> number_value(std::string_view argument, std::string_view text, std::uint32_t least,
                                   std::uint32_t most);

// "1,16,64".
Result<std::vector<std::uint32_t>> number_list(std::string_view argument, std::string_view text, std::uint32_t least,
                                               std::uint32_t most);

// "8192x8192,640x2048": n and k.
Result<std::vector<std::pair<std::uint32_t, std::uint32_t>>> shape_list(std::string_view argument,
                                                                        std::string_view text);

// "w4a16-bf16-g128,w4a16-f16-ch-zp".
Result<std::vector<GemmDescriptor>> format_list(std::string_view text);

// "sm_90a": one that there is code for.
Result<Arch> arch_value(std::string_view argument, std::string_view text);

// "sm_80,sm_90a", without those that get the same code as one before.
Result<std::vector<Arch>> arch_list(std::string_view argument, std::string_view text);

Result<KernelKey> key_value(std::string_view argument, std::string_view text);

// A config's name within the catalogue of format and arch; the error lists what there is.
Result<KernelSpec> kernel_value(const std::string& format, const std::string& config, Arch arch);

}  // namespace cubind::cli
