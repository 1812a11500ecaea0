// Every config of the catalogue, compiled for the host: tiles x activation x zero points x scale class. Compiled in
// CUBIND_SLICES parts; this one is CUBIND_SLICE.
#include <array>
#include <utility>

#include "codegen/device/kernel/gemm_mma_sync.cuh"
#include "codegen/device/kernel/gemm_wgmma.cuh"
#include "codegen/plan/tiles.hpp"
#include "tests/emulator/emulated_kernel.hpp"

namespace cubind::emulator {
namespace {

constexpr std::size_t kVariants = 8, kVariantsSm75 = 4;
constexpr std::size_t kAsyncConfigs = std::size(kAsyncTiles) * kVariants;
constexpr std::size_t kMmaSyncConfigs = kAsyncConfigs + std::size(kSm75Tiles) * kVariantsSm75;
constexpr std::size_t kConfigs = kMmaSyncConfigs + std::size(kWgmmaTiles) * kVariants;

constexpr GemmConfig config_at(std::size_t index) {
  GemmConfig config;
  if (index >= kMmaSyncConfigs) {
    const std::size_t at = index - kMmaSyncConfigs;
    config.kernel = GemmKernel::wgmma;
    config.mma = MmaKind::wgmma_m64k16;
    config.zero_points = at % 2 != 0;
    config.scale_class = at / 2 % 2 != 0 ? ScaleClass::g32 : ScaleClass::g64_plus;
    config.activation = at / 4 % 2 != 0 ? DType::f16 : DType::bf16;
    kWgmmaTiles[at / kVariants].put_into(config);
    return config;
  }
  const bool async = index < kAsyncConfigs;
  const std::size_t variant = async ? index % kVariants : (index - kAsyncConfigs) % kVariantsSm75;
  config.zero_points = variant % 2 != 0;
  config.scale_class = variant / 2 % 2 != 0 ? ScaleClass::g32 : ScaleClass::g64_plus;
  config.activation = async && variant < 4 ? DType::bf16 : DType::f16;
  config.mma = async ? MmaKind::mma_m16n8k16 : MmaKind::mma_m16n8k8;
  config.async_copy = async;
  if (async) {
    kAsyncTiles[index / kVariants].put_into(config);
  } else {
    kSm75Tiles[(index - kAsyncConfigs) / kVariantsSm75].put_into(config);
  }
  return config;
}

template <GemmConfig kConfig>
void body(const MappedGemmParams& params) {
  if constexpr (kConfig.kernel == GemmKernel::wgmma) {
    gemm_wgmma<kConfig>(params);
  } else {
    gemm_mma_sync<kConfig>(params);
  }
}

constexpr std::size_t kFirst = kConfigs * CUBIND_SLICE / CUBIND_SLICES,
                      kLast = kConfigs * (CUBIND_SLICE + 1) / CUBIND_SLICES;

template <std::size_t... kIndex>
constexpr std::array<EmulatedKernel, sizeof...(kIndex)> kernels(std::index_sequence<kIndex...>) {
  return {{{config_at(kFirst + kIndex), body<config_at(kFirst + kIndex)>}...}};
}

constexpr auto kKernels = kernels(std::make_index_sequence<kLast - kFirst>());

}  // namespace

template <>
std::span<const EmulatedKernel> kernel_slice<CUBIND_SLICE>() {
  return kKernels;
}

}  // namespace cubind::emulator
