#include "codegen/plan/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "codegen/device/tile/smem_layout.cuh"

namespace cubind {
namespace {

constexpr double kWarpsForFullRate = 4;  // one for each scheduler of the SM

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
  const double blocks_of_sm = std::ceil(tiles_n * tiles_m * splits / sm_count);  // of the busiest one
  const double rounds = std::ceil(blocks_of_sm / cost.resident_blocks);
  const double block_k = static_cast<double>(k_tiles_per_split) * c.tile_k;
  const double weight_bytes = c.weight_bits / 8.0 + (shape.group_k == 0 ? 0 : 2.0 / shape.group_k);  // of one weight

  const double memory_bytes = columns * shape.k * weight_bytes + rows * shape.k * 2 + rows * columns * 2;
  const double memory = memory_bytes / (rate.dram_bytes_per_us * sm_count);

  const double block_bytes = block_k * (c.tile_n * weight_bytes + c.tile_m * 2.0);
  const double feed = blocks_of_sm * block_bytes / rate.l2_bytes_per_us;

  const double shared = blocks_of_sm * block_k * c.tile_m * 2 * c.warps_n / rate.smem_bytes_per_us;

  const double mmas = c.tile_m / 8.0 * (c.tile_n / 16.0) * (block_k / 16.0);
  const double unpacked = block_k * c.tile_n * c.warps_m;
  const double block_compute = std::max(mmas / rate.mma_per_us, unpacked / rate.unpack_per_us);
  const double alone = std::min(1.0, c.warps() / kWarpsForFullRate);  // rate of one block that has the SM for itself
  const double compute = std::max(blocks_of_sm * block_compute, rounds * block_compute / alone);

  const double step = std::max(rate.step_us, rate.latency_us / (c.stages - 1));
  const double latency = rounds * (rate.block_us + k_tiles_per_split * step);

  const double largest = std::max({memory, feed, shared, compute, latency});
  const double others = memory + feed + shared + compute + latency - largest;
  double time = rate.launch_us + largest + rate.not_hidden * others;
  if (splits > 1) time += rate.split_us + rows * columns * 4 * 2 * splits / (rate.l2_bytes_per_us * sm_count);
  return time;
}

}  // namespace cubind
