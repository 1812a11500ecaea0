// A target such as sm_80, sm_90a, sm_120f.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cubind {

struct Arch {
  std::uint16_t number = 0;  // 10 * major + minor: 75, 80, 90, 100, 120
  char suffix = '\0';        // 'a' (architecture-specific), 'f' (family) or none

  auto operator<=>(const Arch&) const = default;
  unsigned major() const { return number / 10; }
};

// "sm_90a"; accepts also "90a". invalid_argument otherwise. Does not say whether anything can compile for it.
Result<Arch> arch_from_string(std::string_view text);
std::string to_string(Arch arch);

}  // namespace cubind
