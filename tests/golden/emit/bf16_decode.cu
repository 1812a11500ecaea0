#include "codegen/device/kernel/gemm_mma_sync.cuh"

constexpr cubind::GemmConfig kConfig{
    .kernel = cubind::GemmKernel::mma_sync,
    .activation = cubind::DType::bf16,
    .weight_bits = 4,
    .zero_points = false,
    .scale_class = cubind::ScaleClass::g64_plus,
    .mma = cubind::MmaKind::mma_m16n8k16,
    .async_copy = true,
    .tile_m = 8, .tile_n = 64, .tile_k = 256,
    .stages = 5,
    .warps_m = 1, .warps_n = 2, .warps_k = 4,
};

extern "C" __global__ __launch_bounds__(kConfig.threads(), kConfig.min_blocks())
void cubind_kernel(const __grid_constant__ cubind::GemmParams params) {
  cubind::gemm_mma_sync<kConfig>(params);
}
