#include "protocol/arch.hpp"

namespace cubind {

Result<Arch> arch_from_string(std::string_view text) {
  const Error bad{
      ErrorCode::invalid_argument,
      "arch \"" + std::string(text) + "\" is not of the form sm_NN, sm_NNN, with an optional suffix a or f"};
  auto rest = text;
  if (rest.starts_with("sm_")) rest.remove_prefix(3);
  Arch arch;
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
    arch.suffix = rest.back();
    rest.remove_suffix(1);
  }
  if (rest.size() < 2 || rest.size() > 3 || rest.front() == '0') return bad;
  for (const char c : rest) {
    if (c < '0' || c > '9') return bad;
    arch.number = static_cast<std::uint16_t>(arch.number * 10 + (c - '0'));
  }
  return arch;
}

std::string to_string(Arch arch) {
  std::string text = "sm_" + std::to_string(arch.number);
  if (arch.suffix != '\0') text += arch.suffix;
  return text;
}

}  // namespace cubind
