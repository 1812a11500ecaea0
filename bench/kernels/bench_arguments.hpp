// What the kernel benches have in common on their command line and at their start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cubind::bench {

struct LayerShape {
  std::uint32_t n, k;
};

// "4096x4096,6144x4096" and "1,2,16"; invalid_argument names the part that is wrong.
Result<std::vector<LayerShape>> parse_shapes(const std::string& text);
Result<std::vector<std::uint32_t>> parse_tokens(const std::string& text);

}  // namespace cubind::bench
