// Runs small kernels of one kind, one of whose headers may carry a planted bug, under every schedule. Prints a line for
// each schedule: its name and what was found first, or "nothing". Exit code 1 if anything was found, 0 if not.
#include <cstdio>
#include <exception>

#if defined(CUBIND_PROBE_WGMMA)
#include "codegen/device/kernel/gemm_wgmma.cuh"
#else
#include "codegen/device/kernel/gemm_mma_sync.cuh"
#endif
#include "tests/emulator/gemm_problem.hpp"

namespace cubind::emulator {
namespace {

#if defined(CUBIND_PROBE_WGMMA)

constexpr GemmConfig kWgmma{.kernel = GemmKernel::wgmma,
                            .activation = DType::bf16,
                            .zero_points = true,
                            .scale_class = ScaleClass::g32,
                            .mma = MmaKind::wgmma_m64k16,
                            .tile_m = 48,
                            .tile_n = 128,
                            .tile_k = 128,
                            .stages = 2,
                            .warps_m = 1,
                            .warps_n = 8,
                            .warps_k = 1};

// Ways along k, sums beside the ring; long runs.
constexpr GemmConfig kWays{.kernel = GemmKernel::wgmma,
                           .mma = MmaKind::wgmma_m64k16,
                           .tile_m = 16,
                           .tile_n = 64,
                           .tile_k = 512,
                           .stages = 2,
                           .warps_m = 1,
                           .warps_n = 4,
                           .warps_k = 4};
// Sums over the ring.
constexpr GemmConfig kOverRing{.kernel = GemmKernel::wgmma,
                               .activation = DType::f16,
                               .mma = MmaKind::wgmma_m64k16,
                               .tile_m = 48,
                               .tile_n = 64,
                               .tile_k = 128,
                               .stages = 2,
                               .warps_m = 1,
                               .warps_n = 4,
                               .warps_k = 2};

template <GemmConfig kConfig>
void body(const MappedGemmParams& params) {
  gemm_wgmma<kConfig>(params);
}

void check_all(Schedule schedule) {
  check_gemm(kWgmma, body<kWgmma>, {.m = 49, .n = 136, .k = 672, .group = 32, .bias = true, .ldo_extra = 8}, schedule);
  check_gemm(kWgmma, body<kWgmma>, {.m = 33, .n = 100, .k = 864, .group = 32, .splits = 2, .ldx_extra = 8}, schedule);
  check_gemm(kWays, body<kWays>, {.m = 5, .n = 136, .k = 640, .group = 64}, schedule);
  check_gemm(kWays, body<kWays>, {.m = 17, .n = 64, .k = 1024, .group = 128, .splits = 2}, schedule);
  check_gemm(kOverRing, body<kOverRing>, {.m = 50, .n = 72, .k = 384, .group = 0}, schedule);
  check_gemm(kOverRing, body<kOverRing>, {.m = 33, .n = 40, .k = 512, .group = 64, .splits = 2}, schedule);
}

#else

constexpr GemmConfig kScaledSums{.activation = DType::bf16,
                                 .zero_points = true,
                                 .scale_class = ScaleClass::g64_plus,
                                 .tile_m = 16,
                                 .tile_n = 32,
                                 .tile_k = 128,
                                 .stages = 3,
                                 .warps_m = 1,
                                 .warps_n = 1,
                                 .warps_k = 2};
constexpr GemmConfig kScaledWeights{.activation = DType::f16,
                                    .scale_class = ScaleClass::g32,
                                    .tile_m = 32,
                                    .tile_n = 32,
                                    .tile_k = 64,
                                    .stages = 3,
                                    .warps_m = 1,
                                    .warps_n = 2,
                                    .warps_k = 1};
constexpr GemmConfig kSm75{.activation = DType::f16,
                           .zero_points = true,
                           .scale_class = ScaleClass::g32,
                           .mma = MmaKind::mma_m16n8k8,
                           .async_copy = false,
                           .tile_m = 16,
                           .tile_n = 32,
                           .tile_k = 64,
                           .stages = 2,
                           .warps_m = 1,
                           .warps_n = 2,
                           .warps_k = 1};

template <GemmConfig kConfig>
void body(const MappedGemmParams& params) {
  gemm_mma_sync<kConfig>(params);
}

void check_all(Schedule schedule) {
  check_gemm(kScaledSums, body<kScaledSums>, {.m = 3, .n = 100, .k = 648, .group = 0, .bias = true}, schedule);
  check_gemm(kScaledSums, body<kScaledSums>, {.m = 18, .n = 64, .k = 640, .group = 64, .splits = 2, .ldx_extra = 8},
             schedule);
  check_gemm(kScaledWeights, body<kScaledWeights>,
             {.m = 33, .n = 40, .k = 416, .group = 32, .bias = true, .splits = 3, .ldo_extra = 1}, schedule);
  check_gemm(kScaledWeights, body<kScaledWeights>, {.m = 7, .n = 72, .k = 160, .group = 32, .ldx_extra = 64}, schedule);
  check_gemm(kSm75, body<kSm75>, {.m = 19, .n = 41, .k = 352, .group = 32}, schedule);
}

#endif

int run() {
  bool found = false;
  for (const Schedule schedule : kSchedules) {
    std::printf("  %-12s", name_of(schedule));
    try {
      check_all(schedule);
      std::puts("nothing");
    } catch (const std::exception& error) {
      std::puts(error.what());
      found = true;
    }
  }
  return found ? 1 : 0;
}

}  // namespace
}  // namespace cubind::emulator

int main() {
  return cubind::emulator::run();
}
