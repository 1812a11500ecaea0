#include "codegen/plan/catalogue.hpp"

#include <algorithm>
#include <span>

#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/plan/tiles.hpp"

namespace cubind {
namespace {

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
    return Error{ErrorCode::not_supported,
                 "activation \"bf16\" is not served on " + to_string(arch.arch) + ", which has no bf16 MMA, only f16"};
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
  const auto add = [&](std::span<const TileShape> tiles) {
    for (const auto& tile : tiles) {
      tile.put_into(config);
      if (config.well_formed() && smem_bytes(config) <= arch.smem_per_block) catalogue.push_back(config);
    }
  };
  if (!arch.wgmma) {
    add(arch.async_copy ? std::span<const TileShape>(kAsyncTiles) : std::span<const TileShape>(kSm75Tiles));
    return catalogue;
  }
  add(kBesideWgmmaTiles);
  config.kernel = GemmKernel::wgmma;
  config.mma = MmaKind::wgmma_m64k16;
  add(kWgmmaTiles);
  return catalogue;
}

bool is_wide(const GemmConfig& config) {
  return config.kernel == GemmKernel::wgmma && config.tile_n > 128;
}

std::uint32_t first_m(const std::vector<GemmConfig>& catalogue, const GemmConfig& config) {
  if (is_wide(config)) return config.tile_m / 4 + 1;
  std::uint32_t smaller = 0;
  for (const auto& other : catalogue) {
    if (other.tile_m < config.tile_m) smaller = std::max(smaller, other.tile_m);
  }
  return smaller + 1;
}

}  // namespace cubind
