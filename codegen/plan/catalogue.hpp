// The closed set of configs of a descriptor on a target, before the public checks of planner.hpp.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "codegen/plan/arch_spec.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

// Whether a generator serves the descriptor on the target. not_supported names field, value and what is served.
// Precondition: validate() passed.
Status check_served(const GemmDescriptor& descriptor, const ArchSpec& arch);

// Ordered by tile_m. Precondition: check_served() passed.
std::vector<GemmConfig> make_catalogue(const GemmDescriptor& descriptor, const ArchSpec& arch);

// Tiles of 256 rows: for layers with many rows also far below their own number of tokens, for what counts there is how
// often activations are read.
bool is_wide(const GemmConfig& config);

// A tile is worth its rows only when m does not fit the next smaller one: the config is a candidate at m if m is at
// least this; wide tiles from a quarter of theirs on. Depends on the catalogue alone, so what is reachable does not
// depend on a layer or a device.
std::uint32_t first_m(const std::vector<GemmConfig>& catalogue, const GemmConfig& config);

}  // namespace cubind
