#include "client/cli/values.hpp"

#include <algorithm>
#include <charconv>

#include "codegen/plan/planner.hpp"
#include "protocol/limits.hpp"

namespace cubind::cli {

namespace {

Error bad(std::string_view argument, std::string_view text, std::string_view rule) {
  return {ErrorCode::invalid_argument, std::string(argument) + " \"" + std::string(text) + "\" " + std::string(rule)};
}

// The same error, said of the argument.
Error about(std::string_view argument, Error error) {
  error.message = std::string(argument) + ": " + error.message;
  return error;
}

std::vector<std::string_view> parts_of(std::string_view list, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(separator, begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Result<std::uint32_t> number_value(std::string_view argument, std::string_view text, std::uint32_t least,
                                   std::uint32_t most) {
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < least || value > most) {
    return bad(argument, text, "is not an integer from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

Result<std::vector<std::uint32_t>> number_list(std::string_view argument, std::string_view text, std::uint32_t least,
                                               std::uint32_t most) {
  std::vector<std::uint32_t> numbers;
  for (const auto part : parts_of(text, ',')) {
    CUBIND_TRY(const auto number, number_value(argument, part, least, most));
    numbers.push_back(number);
  }
  return numbers;
}

Result<std::vector<std::pair<std::uint32_t, std::uint32_t>>> shape_list(std::string_view argument,
                                                                        std::string_view text) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shapes;
  for (const auto shape : parts_of(text, ',')) {
    const auto sides = parts_of(shape, 'x');
    if (sides.size() != 2) return bad(argument, shape, "is not of the form NxK");
    CUBIND_TRY(const auto n, number_value(argument, sides[0], 1, limits::kMaxNK));
    CUBIND_TRY(const auto k, number_value(argument, sides[1], 1, limits::kMaxNK));
    shapes.emplace_back(n, k);
  }
  return shapes;
}

Result<std::vector<GemmDescriptor>> format_list(std::string_view text) {
  std::vector<GemmDescriptor> formats;
  for (const auto name : parts_of(text, ',')) {
    CUBIND_TRY(auto descriptor, descriptor_from_name(name));
    formats.push_back(descriptor);
  }
  return formats;
}

Result<Arch> arch_value(std::string_view argument, std::string_view text) {
  auto arch = arch_from_string(text);
  if (!arch.ok()) return about(argument, std::move(arch).error());
  if (auto code = code_arch(*arch); !code.ok()) return about(argument, std::move(code).error());
  return arch;
}

Result<std::vector<Arch>> arch_list(std::string_view argument, std::string_view text) {
  std::vector<Arch> archs;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto one = text.substr(begin, end - begin);
    if (one.empty()) return bad(argument, text, "holds an empty name: architectures are separated by single commas");
    CUBIND_TRY(const Arch arch, arch_value(argument, one));
    const Arch code = code_arch(arch).value();
    const bool known =
        std::any_of(archs.begin(), archs.end(), [&](Arch other) { return code_arch(other).value() == code; });
    if (!known) archs.push_back(arch);
    begin = end + 1;
  }
  return archs;
}

Result<KernelKey> key_value(std::string_view argument, std::string_view text) {
  auto key = Digest::from_hex(text);
  if (!key.ok()) return bad(argument, text, "is not 64 hexadecimal digits");
  if (key->is_zero()) return bad(argument, text, "is no key: it is all zero");
  return key;
}

Result<KernelSpec> kernel_value(const std::string& format, const std::string& config, Arch arch) {
  auto descriptor = descriptor_from_name(format);
  if (!descriptor.ok()) return about("FORMAT", std::move(descriptor).error());
  CUBIND_TRY(const Arch code, code_arch(arch));
  CUBIND_TRY(const auto configs, catalogue(*descriptor, code));
  std::string names;
  for (const auto& one : configs) {
    if (config_name(one) == config) return KernelSpec{*descriptor, config};
    names += (names.empty() ? "" : ", ") + config_name(one);
  }
  return bad("--config", config, "is none of " + format + " on " + to_string(arch) + ": " + names);
}

}  // namespace cubind::cli
