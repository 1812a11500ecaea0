#include "codegen/device/kernel/gemm_mma_sync.cuh"

constexpr cubind::GemmConfig kConfig{
    .activation = cubind::DType::bf16,
    .weight_bits = 4,
    .zero_points = false,
    .scale_class = cubind::ScaleClass::g64_plus,
    .mma = cubind::MmaKind::mma_m16n8k16,
    .async_copy = true,
    .tile_m = 16, .tile_n = 64, .tile_k = 128,
    .stages = 4,
    .warps_m = 1, .warps_n = 1, .warps_k = 4,
};

extern "C" __global__ __launch_bounds__(kConfig.threads())
void cubind_kernel(const __grid_constant__ cubind::GemmParams params) {
  cubind::gemm_mma_sync<kConfig>(params);
}
