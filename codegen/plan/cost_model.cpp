#include "codegen/plan/cost_model.hpp"

#include <algorithm>

namespace cubind {
namespace {

// Accumulators, one fragment of x and of the unpacked weights, addresses: an estimate good enough for how many blocks
// fit.
std::uint32_t registers_per_thread(const GemmConfig& c) {
  const std::uint32_t accumulators = c.tile_m * c.tile_n * c.warps_k / c.threads();
  return std::clamp((accumulators + 56 + 7) / 8 * 8, 64u, 255u);
}

constexpr double kWarpsForFullRate = 8;  // fewer warps leave issue slots of the SM empty

double ceil_div(double a, double b) {
  return static_cast<double>((static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b) - 1) /
                             static_cast<std::uint64_t>(b));
}

}  // namespace

ConfigCost config_cost(const GemmConfig& config, std::uint32_t smem_bytes, const ArchSpec& arch) {
  const std::uint32_t reserved = arch.number == 75 ? 0 : 1024;
  const std::uint32_t by_smem = arch.smem_per_sm / (smem_bytes + reserved);
  const std::uint32_t by_threads = arch.threads_per_sm / config.threads();
  const std::uint32_t by_registers = kRegistersPerSm / (registers_per_thread(config) * config.threads());
  const auto resident = std::min({by_smem, by_threads, by_registers, arch.blocks_per_sm});
  return {config, smem_bytes, std::max(resident, 1u)};
}

double estimate_us(const ConfigCost& cost, const ArchSpec& arch, std::uint32_t sm_count, const GemmShape& shape,
                   std::uint32_t splits, std::uint32_t k_tiles_per_split) {
  const auto& c = cost.config;
  const auto& rate = arch.cost;
  const double sms = sm_count;
  const double tiles_n = ceil_div(shape.n, c.tile_n), tiles_m = ceil_div(shape.m, c.tile_m);
  const double rows = tiles_m * c.tile_m, columns = tiles_n * c.tile_n, k = shape.k;
  const double blocks = tiles_n * tiles_m * splits;
  const double busy_sms = std::min(blocks, sms);
  const double blocks_of_sm = ceil_div(blocks, sms);  // of the busiest one

  const double scale_bytes = shape.group_k == 0 ? 0 : 2.0 / shape.group_k;
  const double weight_bytes = columns * k * (c.weight_bits / 8.0 + scale_bytes);
  const double x_bytes = rows * k * 2, out_bytes = rows * columns * 2;
  const double dram = (weight_bytes + x_bytes + out_bytes) / (rate.dram_bytes_per_us * busy_sms);
  const double l2 = (weight_bytes * tiles_m + x_bytes * tiles_n) / (rate.l2_bytes_per_us * busy_sms);

  const double resident = std::min<double>(cost.resident_blocks, blocks_of_sm);
  const double filled = std::min(1.0, resident * c.warps() / kWarpsForFullRate);
  const double k_of_block = static_cast<double>(k_tiles_per_split) * c.tile_k;
  const double mmas = c.tile_m / 8.0 * (c.tile_n / 16.0) * (k_of_block / 16.0);
  const double unpacked = static_cast<double>(c.tile_n) * k_of_block * c.warps_m;
  const double compute = blocks_of_sm * std::max(mmas / rate.mma_per_us, unpacked / rate.dequant_per_us) / filled;

  const double rounds = ceil_div(blocks_of_sm, cost.resident_blocks);
  const double latency = rounds * (rate.block_us + k_tiles_per_split * rate.k_tile_us);

  double time = rate.launch_us + std::max({dram, l2, compute, latency});
  if (splits > 1) {
    const double partial_bytes = rows * columns * 4 * splits * 2;
    time += rate.split_us + partial_bytes / (rate.l2_bytes_per_us * busy_sms);
  }
  return time;
}

}  // namespace cubind
