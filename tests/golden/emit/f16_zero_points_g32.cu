#include "codegen/device/kernel/gemm_mma_sync.cuh"

constexpr cubind::GemmConfig kConfig{
    .activation = cubind::DType::f16,
    .weight_bits = 4,
    .zero_points = true,
    .scale_class = cubind::ScaleClass::g32,
    .mma = cubind::MmaKind::mma_m16n8k16,
    .async_copy = true,
    .tile_m = 128, .tile_n = 256, .tile_k = 64,
    .stages = 3,
    .warps_m = 1, .warps_n = 8, .warps_k = 1,
};

extern "C" __global__ __launch_bounds__(kConfig.threads())
void cubind_kernel(const __grid_constant__ cubind::GemmParams params) {
  cubind::gemm_mma_sync<kConfig>(params);
}
