#include "codegen/plan/catalogue.hpp"

#include <algorithm>
#include <span>

#include "codegen/device/tile/smem_layout.cuh"

namespace cubind {
namespace {

struct Tile {
  unsigned m, n, k, stages, warps_n, warps_m, warps_k;
};

// A stage is m * k * 2 bytes of activations and n * k / 2 of weights: decode tiles take many k (bytes in flight, every
// warp its own slice of k), prefill tiles few. Warps along n first, since warps along m unpack the same weights again.
constexpr Tile kTiles[] = {
    {8, 32, 512, 4, 1, 1, 8},                               // n / 64 tiles would not fill the device
    {8, 64, 256, 5, 2, 1, 4},                               //
    {8, 128, 256, 4, 2, 1, 4},                              // large n: fewest reads of the activations
    {16, 32, 256, 6, 1, 1, 4},                              // small n
    {16, 64, 256, 5, 2, 1, 4},                              //
    {16, 128, 128, 6, 4, 1, 2},                             // large n
    {32, 64, 128, 5, 2, 1, 2},  {64, 64, 128, 4, 2, 1, 2},  // small n
    {64, 128, 64, 5, 4, 1, 1},                              // and prefill of small n
    {128, 64, 64, 4, 2, 2, 1},                              // prefill, small n
    {128, 128, 64, 4, 2, 2, 1},                             // prefill
    {256, 128, 64, 4, 2, 4, 1},  // prefill of large m and n; needs the shared memory of sm_80, 90, 100
};

// sm_75: plain copies through two stages, 64 KB.
constexpr Tile kTilesSm75[] = {
    {8, 64, 256, 2, 2, 1, 4}, {16, 64, 256, 2, 2, 1, 4}, {32, 64, 128, 2, 2, 1, 2},
    {64, 64, 64, 2, 2, 2, 1}, {64, 128, 64, 2, 4, 1, 1}, {128, 64, 64, 2, 2, 2, 1},
};

// not_supported: what was asked for and what there is.
Error not_served(std::string_view field, std::string_view value, std::string_view served) {
  return {ErrorCode::not_supported,
          std::string(field) + " \"" + std::string(value) + "\" is not served yet, only " + std::string(served)};
}

}  // namespace

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
    config.warps_n = tile.warps_n;
    config.warps_m = tile.warps_m;
    config.warps_k = tile.warps_k;
    if (config.well_formed() && smem_bytes(config) <= arch.smem_per_block) catalogue.push_back(config);
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
