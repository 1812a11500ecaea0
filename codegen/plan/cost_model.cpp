#include "codegen/plan/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "codegen/device/tile/smem_layout.cuh"

namespace cubind {
namespace {

// Of memory and work, how much of the smaller one the larger does not hide. A guess: the H200 is never bound by its
// memory alone, so its times do not tell. Without it, all configs would be equal where a device is.
constexpr double kNotHidden = 0.2;

}  // namespace

ConfigCost config_cost(const GemmConfig& config, const ArchSpec& arch) {
  const std::uint32_t reserved = arch.number == 75 ? 0 : 1024;
  const std::uint32_t by_smem = arch.smem_per_sm / (smem_bytes(config) + reserved);
  const std::uint32_t by_threads = arch.threads_per_sm / config.threads();
  const auto resident = std::min({by_smem, by_threads, config.min_blocks(), arch.blocks_per_sm});
  return {config, std::max(resident, 1u)};
}

double estimate_us(const ConfigCost& cost, const ArchSpec& arch, std::uint32_t sm_count, const GemmShape& shape,
                   std::uint32_t splits, std::uint32_t k_tiles_per_split) {
  const auto& c = cost.config;
  const auto& rate = arch.cost;
  const double tiles_n = ceil_div(shape.n, c.tile_n), tiles_m = ceil_div(shape.m, c.tile_m);
  const double rows = tiles_m * c.tile_m, columns = tiles_n * c.tile_n;
  const double weight_bytes = c.weight_bits / 8.0 + (shape.group_k == 0 ? 0 : 2.0 / shape.group_k);  // of one weight

  // One k step: what a block uses of its SM's pipes, and what it waits for whatever else runs there.
  const double mmas = c.tile_m / 8.0 * (c.tile_n / 16.0) * (c.tile_k / 16.0);
  const double unpacked = static_cast<double>(c.tile_k) * c.tile_n * c.warps_m;
  const double busy = std::max({mmas / rate.mma_per_us, unpacked / rate.unpack_per_us,
                                c.tile_k * c.tile_m * 2.0 * c.warps_n / rate.smem_bytes_per_us,
                                c.tile_k * (c.tile_n * weight_bytes + c.tile_m * 2.0) / rate.l2_bytes_per_us});
  const double alone = std::max(rate.step_us + mmas / c.warps() * rate.warp_mma_us, rate.latency_us / (c.stages - 1));

  const double tile = static_cast<double>(c.tile_m) * c.tile_n;
  const double epilogue = tile * (c.warps_k * 8 / rate.smem_bytes_per_us + 2 / rate.l2_bytes_per_us);

  const double blocks = std::ceil(tiles_n * tiles_m * splits / sm_count);
  const double rounds = std::ceil(blocks / cost.resident_blocks);
  const double work =
      blocks * (k_tiles_per_split * busy + epilogue) + rounds * (rate.block_us + k_tiles_per_split * alone);

  const double memory_bytes = columns * shape.k * weight_bytes + rows * shape.k * 2 + rows * columns * 2;
  const double memory = memory_bytes / (rate.dram_bytes_per_us * sm_count);

  double time = rate.launch_us + std::max(memory, work) + kNotHidden * std::min(memory, work);
  if (splits > 1) time += rate.split_us + splits * rate.reduce_us + blocks * tile * 4 / rate.partial_bytes_per_us;
  return time;
}

}  // namespace cubind
