#include "codegen/plan/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "codegen/device/tile/smem_layout.cuh"

namespace cubind {
namespace {

// Of memory and work, how much of the smaller one the larger does not hide. A guess: the H200 is never bound by its
// memory alone, so its times do not tell. Without it, all configs would be equal where a device is.
constexpr double kNotHidden = 0.2;

// GemmKernel::wgmma on an H200: the larger of memory and work, and some of the smaller. Fitted to 840 times of nine
// tiles on ten layers, 1 to 1024 tokens (bench/results/h200-wgmma-sweep-2026-12-01.csv): off by 12 % on average; the
// choice by it is 0.5 % slower than the best of these tiles on average, 8 % at most.
struct WgmmaCost {
  double start_us = 3.0;             // launch, first stages, last wait
  double unpack_us = 0.057;          // of a unit of 64 rows x 64 k, at least
  double unit_us = 0.0165;           // the same, with its tokens:
  double token_us = 0.00098;         //
  double dram_bytes_per_us = 33100;  // of one SM's share,
  double l2_bytes_per_us = 106000;   //   likewise
  double not_hidden = 0.53;
  double wide_work = 0.85;            // where all tokens are multiplied with 256 rows at a time
  double tile_us = 0.59;              // between tiles of a block
  double cluster_us[2] = {0.6, 2.8};  // of two, of four blocks: start, barriers,
  double part_token_us = 0.0075;      //   and sums sent, of a token and 64 rows
  double way_token_us = 0.015;        // sums of a block's ways, of a token
};
constexpr WgmmaCost kWgmma;

double estimate_wgmma_us(const GemmConfig& c, std::uint32_t sm_count, const GemmShape& shape, double weight_bytes,
                         std::uint32_t splits, std::uint32_t k_tiles_per_split) {
  const double tiles = static_cast<double>(ceil_div(shape.n, c.tile_n)) * ceil_div(shape.m, c.tile_m);
  const double rounds = std::ceil(tiles * splits / sm_count), rows = c.tile_n / 64.0, k = k_tiles_per_split * c.tile_k;
  double work = rounds * k / 64 * rows * std::max(kWgmma.unpack_us, kWgmma.unit_us + kWgmma.token_us * c.tile_m);
  if (c.tile_n > 128 && shape.m <= c.tile_m) work *= kWgmma.wide_work;
  const double once = shape.n * (shape.k * weight_bytes + shape.m * 2.0) + shape.m * 2.0 * shape.k;
  const double read = tiles * splits * k * (2.0 * c.tile_m + c.tile_n * weight_bytes);
  const double memory = std::max(once / kWgmma.dram_bytes_per_us, read / kWgmma.l2_bytes_per_us) / sm_count;
  double time =
      kWgmma.start_us + std::max(work, memory) + kWgmma.not_hidden * std::min(work, memory) + rounds * kWgmma.tile_us;
  if (splits > 1) time += kWgmma.cluster_us[splits == 2 ? 0 : 1] + kWgmma.part_token_us * c.tile_m * rows;
  return c.warps_k > 1 ? time + kWgmma.way_token_us * c.tile_m : time;
}

}  // namespace

ConfigCost config_cost(const GemmConfig& config, const ArchSpec& arch) {
  const std::uint32_t reserved = arch.arch.number == 75 ? 0 : 1024;
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

  if (c.kernel == GemmKernel::wgmma) {
    return estimate_wgmma_us(c, sm_count, shape, weight_bytes, splits, k_tiles_per_split);
  }

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
