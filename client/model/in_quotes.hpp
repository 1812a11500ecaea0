// A value of a file nobody vouches for, as it may stand in a one-line message: in quotes, control characters replaced,
// cut after `most` characters.
#pragma once

#include <string>
#include <string_view>

namespace cubind {

inline std::string in_quotes(std::string_view value, std::size_t most = 64) {
  std::string out = "\"";
  for (const char c : value.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  out += value.size() > most ? "...\"" : "\"";
  return out;
}

}  // namespace cubind
