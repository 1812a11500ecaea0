#include "codegen/device/kernel/gemm_mma_sync.cuh"

constexpr cubind::GemmConfig kConfig{
    .kernel = cubind::GemmKernel::mma_sync,
    .activation = cubind::DType::f16,
    .weight_bits = 4,
    .zero_points = true,
    .scale_class = cubind::ScaleClass::g32,
    .mma = cubind::MmaKind::mma_m16n8k16,
    .async_copy = true,
    .tile_m = 256, .tile_n = 128, .tile_k = 64,
    .stages = 4,
    .warps_m = 4, .warps_n = 2, .warps_k = 1,
};

extern "C" __global__ __launch_bounds__(kConfig.threads(), kConfig.min_blocks())
void cubind_kernel(const __grid_constant__ cubind::GemmParams params) {
  cubind::gemm_mma_sync<kConfig>(params);
}
