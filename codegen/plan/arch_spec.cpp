#include "codegen/plan/arch_spec.hpp"

#include <algorithm>

namespace cubind {
namespace {

constexpr std::uint32_t KiB = 1024;

// Limits: CUDA programming guide, compute capabilities. Costs: bandwidth and clock of the device named at the right, 60
// to 70 % of the tensor cores' peak for mma.sync; the sm_90 row is what the others' launch and block times are guessed
// from.
constexpr ArchSpec kSpecs[] = {
    {.number = 75,
     .smem_per_block = 64 * KiB,
     .smem_per_sm = 64 * KiB,
     .threads_per_sm = 1024,
     .blocks_per_sm = 16,
     .nominal_sm_count = 40,
     .bf16 = false,
     .async_copy = false,
     .mma = MmaKind::mma_m16n8k8,
     .cost = {2.5, 1.5, 0.20, 0.9, 2.0, 7000, 18000, 190000, 320, 40000}},  // T4
    {.number = 80,
     .smem_per_block = 163 * KiB,
     .smem_per_sm = 164 * KiB,
     .threads_per_sm = 2048,
     .blocks_per_sm = 32,
     .nominal_sm_count = 108,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = {2.5, 1.2, 0.15, 0.9, 2.0, 16000, 45000, 180000, 600, 60000}},  // A100 80 GB
    {.number = 86,
     .smem_per_block = 99 * KiB,
     .smem_per_sm = 100 * KiB,
     .threads_per_sm = 1536,
     .blocks_per_sm = 16,
     .nominal_sm_count = 84,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = {2.5, 1.2, 0.15, 0.9, 2.0, 8000, 25000, 220000, 350, 70000}},  // A40
    {.number = 89,
     .smem_per_block = 99 * KiB,
     .smem_per_sm = 100 * KiB,
     .threads_per_sm = 1536,
     .blocks_per_sm = 24,
     .nominal_sm_count = 128,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = {2.5, 1.0, 0.12, 0.8, 1.8, 7000, 30000, 310000, 400, 90000}},  // RTX 4090
    {.number = 90,
     .smem_per_block = 227 * KiB,
     .smem_per_sm = 228 * KiB,
     .threads_per_sm = 2048,
     .blocks_per_sm = 32,
     .nominal_sm_count = 132,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = {2.0, 1.2, 0.12, 0.9, 1.8, 33000, 70000, 220000, 1000, 120000}},  // H200
    {.number = 100,
     .smem_per_block = 227 * KiB,
     .smem_per_sm = 228 * KiB,
     .threads_per_sm = 2048,
     .blocks_per_sm = 32,
     .nominal_sm_count = 148,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = {2.0, 1.2, 0.12, 0.9, 1.8, 48000, 80000, 230000, 1000, 120000}},  // B200
    {.number = 120,
     .smem_per_block = 99 * KiB,
     .smem_per_sm = 100 * KiB,
     .threads_per_sm = 1536,
     .blocks_per_sm = 24,
     .nominal_sm_count = 170,
     .bf16 = true,
     .async_copy = true,
     .mma = MmaKind::mma_m16n8k16,
     .cost = {2.0, 1.0, 0.12, 0.8, 1.6, 9500, 35000, 300000, 350, 110000}},  // RTX 5090
};

}  // namespace

std::span<const ArchSpec> arch_specs() {
  return kSpecs;
}

const ArchSpec* find_arch_spec(unsigned number) {
  const auto* it = std::find_if(std::begin(kSpecs), std::end(kSpecs),
                                [number](const ArchSpec& spec) { return spec.number == number; });
  return it == std::end(kSpecs) ? nullptr : it;
}

}  // namespace cubind
