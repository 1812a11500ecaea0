#include "codegen/plan/arch_spec.hpp"

#include <algorithm>

namespace cubind {
namespace {

constexpr std::uint32_t KiB = 1024;

// fit_planner's for bench/results/h200-sweep-2026-11-30.csv, except for the rates of DRAM, L2, shared memory and MMAs,
// which are the data sheet's. Fitted without one layer, the constants are as good for that layer (--hold-out).
constexpr CostConstants kH200 = {.launch_us = 0.81,
                                 .block_us = 0.26,
                                 .step_us = 0.102,
                                 .warp_mma_us = 0.0054,
                                 .latency_us = 0.57,
                                 .split_us = 1.0,
                                 .reduce_us = 0.14,
                                 .partial_bytes_per_us = 13000,
                                 .dram_bytes_per_us = 36400,
                                 .l2_bytes_per_us = 112000,
                                 .smem_bytes_per_us = 225000,
                                 .mma_per_us = 1830,
                                 .unpack_per_us = 51700};

// What a data sheet says of a device.
struct DataSheet {
  double sm_count;
  double clock_ghz;  // boost
  double dram_gb_per_s;
  double mma_clocks;  // of one m16n8k16 with f32 sums through mma.sync, on one of the SM's four schedulers
  double smem_bytes_per_clock = 128;
};
constexpr DataSheet kH200Sheet = {.sm_count = 132, .clock_ghz = 1.755, .dram_gb_per_s = 4800, .mma_clocks = 4};

// The other devices are not measured: the H200's constants by the ratios of bandwidth, clock and MMA rate. Waits for
// memory are as long everywhere.
constexpr CostConstants scaled(const DataSheet& sheet) {
  const double clock = sheet.clock_ghz / kH200Sheet.clock_ghz;
  auto cost = kH200;
  cost.block_us /= clock;
  cost.step_us /= clock;
  // On the H200, mma.sync takes half as long again as the tensor core needs; elsewhere it does not.
  cost.warp_mma_us *= sheet.mma_clocks / (1.5 * kH200Sheet.mma_clocks) / clock;
  cost.partial_bytes_per_us *= clock;
  cost.dram_bytes_per_us = 1000 * sheet.dram_gb_per_s / sheet.sm_count;
  cost.l2_bytes_per_us *= clock;
  cost.smem_bytes_per_us = 1000 * sheet.smem_bytes_per_clock * sheet.clock_ghz;
  cost.mma_per_us = 4 * 1000 * sheet.clock_ghz / sheet.mma_clocks;
  cost.unpack_per_us *= clock;
  return cost;
}

// Limits, here and below: CUDA programming guide, compute capabilities.
constexpr ArchSpec kHopper = {.arch = {90, '\0'},
                              .device = "H200",
                              .smem_per_block = 227 * KiB,
                              .smem_per_sm = 228 * KiB,
                              .threads_per_sm = 2048,
                              .blocks_per_sm = 32,
                              .nominal_sm_count = 132,
                              .bf16 = true,
                              .async_copy = true,
                              .mma = MmaKind::mma_m16n8k16,
                              .cost = kH200};

constexpr ArchSpec with_wgmma(ArchSpec spec) {
  spec.arch.suffix = 'a';
  spec.wgmma = true;
  return spec;
}

constexpr ArchSpec kSpecs[] = {
    {.arch = {75, '\0'},
     .device = "T4",
     .smem_per_block = 64 * KiB,
     .smem_per_sm = 64 * KiB,
     .threads_per_sm = 1024,
     .blocks_per_sm = 16,
     .nominal_sm_count = 40,
     .bf16 = false,
     .async_copy = false,
     .mma = MmaKind::mma_m16n8k8,
     .cost = scaled(
         {.sm_count = 40, .clock_ghz = 1.59, .dram_gb_per_s = 320, .mma_clocks = 16, .smem_bytes_per_clock = 64})},
    {.arch = {80, '\0'},
     .device = "A100 80 GB",
     .smem_per_block = 163 * KiB,
     .smem_per_sm = 164 * KiB,
     .threads_per_sm = 2048,
     .blocks_per_sm = 32,
     .nominal_sm_count = 108,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = scaled({.sm_count = 108, .clock_ghz = 1.41, .dram_gb_per_s = 2039, .mma_clocks = 8})},
    {.arch = {86, '\0'},
     .device = "A40",
     .smem_per_block = 99 * KiB,
     .smem_per_sm = 100 * KiB,
     .threads_per_sm = 1536,
     .blocks_per_sm = 16,
     .nominal_sm_count = 84,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = scaled({.sm_count = 84, .clock_ghz = 1.74, .dram_gb_per_s = 696, .mma_clocks = 16})},
    {.arch = {89, '\0'},
     .device = "RTX 4090",
     .smem_per_block = 99 * KiB,
     .smem_per_sm = 100 * KiB,
     .threads_per_sm = 1536,
     .blocks_per_sm = 24,
     .nominal_sm_count = 128,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = scaled({.sm_count = 128, .clock_ghz = 2.52, .dram_gb_per_s = 1008, .mma_clocks = 32})},
    kHopper,
    with_wgmma(kHopper),
    {.arch = {100, '\0'},
     .device = "B200",
     .smem_per_block = 227 * KiB,
     .smem_per_sm = 228 * KiB,
     .threads_per_sm = 2048,
     .blocks_per_sm = 32,
     .nominal_sm_count = 148,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = scaled({.sm_count = 148, .clock_ghz = 1.85, .dram_gb_per_s = 8000, .mma_clocks = 6})},
    {.arch = {120, '\0'},
     .device = "RTX 5090",
     .smem_per_block = 99 * KiB,
     .smem_per_sm = 100 * KiB,
     .threads_per_sm = 1536,
     .blocks_per_sm = 24,
     .nominal_sm_count = 170,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = scaled({.sm_count = 170, .clock_ghz = 2.41, .dram_gb_per_s = 1792, .mma_clocks = 32})},
};

}  // namespace

std::span<const ArchSpec> arch_specs() {
  return kSpecs;
}

const ArchSpec* find_arch_spec(Arch arch) {
  const auto* it =
      std::find_if(std::begin(kSpecs), std::end(kSpecs), [arch](const ArchSpec& spec) { return spec.arch == arch; });
  return it == std::end(kSpecs) ? nullptr : it;
}

}  // namespace cubind
