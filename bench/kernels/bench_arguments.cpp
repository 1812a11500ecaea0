#include "bench/kernels/bench_arguments.hpp"

#include <charconv>
#include <string_view>

namespace cubind::bench {
namespace {

Result<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && value > 0) return value;
  return Error{ErrorCode::invalid_argument, "\"" + std::string(text) + "\" is not a positive number"};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Result<std::vector<LayerShape>> parse_shapes(const std::string& text) {
  std::vector<LayerShape> shapes;
  for (const std::string_view part : split(text, ',')) {
    const auto sides = split(part, 'x');
    if (sides.size() != 2) {
      return Error{ErrorCode::invalid_argument, "shape \"" + std::string(part) + "\" is not of the form NxK"};
    }
    CUBIND_TRY(const auto n, parse_number(sides[0]));
    CUBIND_TRY(const auto k, parse_number(sides[1]));
    shapes.push_back({n, k});
  }
  return shapes;
}

Result<std::vector<std::uint32_t>> parse_tokens(const std::string& text) {
  std::vector<std::uint32_t> tokens;
  for (const std::string_view part : split(text, ',')) {
    CUBIND_TRY(const auto m, parse_number(part));
    tokens.push_back(m);
  }
  return tokens;
}

}  // namespace cubind::bench
