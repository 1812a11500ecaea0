#include "codegen/plan/catalogue.hpp"

#include <algorithm>

namespace cubind {
namespace {

struct Tile {
  unsigned m, n, k, stages, warps_m, warps_n, warps_k;
};

// With cp.async. Few tokens: many k in flight per block and the warps along k. Many tokens: warps along n, because each
// of them unpacks its own weights, while the activations are shared.
constexpr Tile kTiles[] = {
    {8, 64, 256, 4, 1, 1, 4},  {8, 128, 128, 4, 1, 2, 4},  {16, 64, 256, 4, 1, 1, 4},  {16, 128, 128, 4, 1, 2, 4},
    {32, 64, 128, 4, 1, 2, 2}, {32, 128, 128, 4, 1, 4, 2}, {64, 64, 128, 3, 1, 2, 2},  {64, 128, 64, 4, 1, 4, 1},
    {64, 256, 64, 3, 1, 8, 1}, {128, 128, 64, 4, 2, 4, 1}, {128, 256, 64, 3, 1, 8, 1}, {256, 128, 64, 3, 2, 4, 1},
};

// sm_75: plain copies, two stages, 64 KB.
constexpr Tile kTilesSm75[] = {
    {8, 64, 128, 2, 1, 1, 4}, {8, 128, 64, 2, 1, 4, 1},  {16, 64, 128, 2, 1, 1, 4}, {16, 128, 64, 2, 1, 4, 1},
    {32, 64, 64, 2, 1, 4, 1}, {32, 128, 64, 2, 1, 4, 1}, {64, 128, 64, 2, 1, 4, 1}, {128, 128, 64, 2, 2, 4, 1},
};

// not_supported: what was asked for and what there is.
Error not_served(std::string_view field, std::string_view value, std::string_view served) {
  return {ErrorCode::not_supported,
          std::string(field) + " \"" + std::string(value) + "\" is not served yet, only " + std::string(served)};
}

}  // namespace

std::uint32_t smem_of(const GemmConfig& c) {
  const std::uint32_t groups = std::max(1u, c.tile_k / (c.scale_class == ScaleClass::g32 ? 32u : 64u));
  const std::uint32_t stage =
      c.tile_m * c.tile_k * 2 + c.tile_n * c.tile_k * c.weight_bits / 8 + groups * c.tile_n * (c.zero_points ? 3 : 2);
  const std::uint32_t sums = c.warps_k * c.tile_m * c.tile_n * 4;
  return std::max(c.stages * stage, sums);
}

Status check_served(const GemmDescriptor& d, const ArchSpec& arch) {
  using enum DType;
  if (d.kind != GemmKind::dense) return not_served("kind", to_string(d.kind), "dense");
  if (d.activation != f16 && d.activation != bf16) {
    return not_served("activation", to_string(d.activation), "f16, bf16");
  }
  const auto type = to_string(d.activation);
  const auto like_activation = std::string(type) + " with activation \"" + std::string(type) + "\"";
  if (d.weight != int4) return not_served("weight", to_string(d.weight), "int4");
  if (d.output != d.activation) return not_served("output", to_string(d.output), like_activation);
  if (d.weight_scale != ScaleKind::group && d.weight_scale != ScaleKind::channel) {
    return not_served("weight_scale", to_string(d.weight_scale), "group, channel");
  }
  if (d.weight_scale_type != d.activation) {
    return not_served("weight_scale_type", to_string(d.weight_scale_type), like_activation);
  }
  if (d.weight_scale == ScaleKind::group && d.group_k < 32) {
    return not_served("group_k", std::to_string(d.group_k), "32, 64, 128 and larger powers of two");
  }
  if (d.weight_global_scale) return not_served("weight_global_scale", "true", "false");
  if (d.zero_point == ZeroPointKind::floating) return not_served("zero_point", "floating", "none, integer");
  if (d.epilogue != Activation::none) return not_served("epilogue", to_string(d.epilogue), "none");
  if (d.accumulation != Accumulation::f32) return not_served("accumulation", to_string(d.accumulation), "f32");
  if (d.determinism == Determinism::batch_invariant) {
    return not_served("determinism", to_string(d.determinism), "run_to_run, sm_count");
  }
  if (d.activation == bf16 && !arch.bf16) {
    return Error{ErrorCode::not_supported, "activation \"bf16\" is not served on sm_" + std::to_string(arch.number) +
                                               ", which has no bf16 MMA, only f16"};
  }
  return {};
}

std::vector<GemmConfig> make_catalogue(const GemmDescriptor& d, const ArchSpec& arch) {
  GemmConfig config;
  config.activation = d.activation;
  config.weight_bits = bits_of(d.weight);
  config.zero_points = d.zero_point != ZeroPointKind::none;
  config.scale_class = d.weight_scale == ScaleKind::group && d.group_k < 64 ? ScaleClass::g32 : ScaleClass::g64_plus;
  config.mma = arch.mma;
  config.async_copy = arch.async_copy;

  std::vector<GemmConfig> catalogue;
  for (const auto& tile : arch.async_copy ? std::span<const Tile>(kTiles) : std::span<const Tile>(kTilesSm75)) {
    config.tile_m = tile.m;
    config.tile_n = tile.n;
    config.tile_k = tile.k;
    config.stages = tile.stages;
    config.warps_m = tile.warps_m;
    config.warps_n = tile.warps_n;
    config.warps_k = tile.warps_k;
    if (smem_of(config) <= arch.smem_per_block) catalogue.push_back(config);
  }
  return catalogue;
}

std::uint32_t first_m(const std::vector<GemmConfig>& catalogue, const GemmConfig& config) {
  std::uint32_t smaller = 0;
  for (const auto& other : catalogue) {
    if (other.tile_m < config.tile_m) smaller = std::max(smaller, other.tile_m);
  }
  return smaller + 1;
}

}  // namespace cubind
