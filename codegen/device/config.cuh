// How a GEMM is computed: one struct for planner, emitter, kernel, launcher and test. A structural type: the kernel
// takes it as a class-type template argument, and the generated unit spells it with designated initializers. Seen by
// g++ and by NVRTC.
#pragma once

#include "protocol/dtype.hpp"

namespace cubind {

// Which kernel of codegen/device/kernel.
enum class GemmKernel : unsigned char {
  mma_sync = 0,  // every target: all warps copy and multiply, barriers of the whole block
  wgmma = 1,     // sm_90a: copy engine and mbarriers, weights dequantized into the register operand of wgmma
};
enum class MmaKind : unsigned char {
  mma_m16n8k8 = 0,   // sm_75: two instructions for 16 k, registers {0, 1} then {2, 3} of A
  mma_m16n8k16 = 1,  // sm_80 and later
  wgmma_m64k16 = 2,  // sm_90a
};
enum class ScaleClass : unsigned char {
  g32 = 0,       // two scale groups in a 64-k unit
  g64_plus = 1,  // at most one: 64, 128, ... and per channel, by GemmParams::group_shift
};

// Words: a tile is what one block computes: tile_n output features (weight rows, the MMA's M side) by tile_m tokens
// (the MMA's N side), tile_k at a time through `stages` buffers. The block's warps form a warps_n x warps_m x warps_k
// grid; warps along k share a stage and are summed in a fixed order in shared memory at the end.
//
// GemmKernel::wgmma: warps_n counts the warps along the rows, in groups of four; warps_k such sets ("ways") share a
// stage along k. One more group copies. Its warps_m is 1.
struct GemmConfig {
  GemmKernel kernel = GemmKernel::mma_sync;
  DType activation = DType::bf16;  // f16 or bf16; also the scales', the bias' and the output's type
  unsigned weight_bits = 4;
  bool zero_points = false;
  ScaleClass scale_class = ScaleClass::g64_plus;
  MmaKind mma = MmaKind::mma_m16n8k16;
  bool async_copy = true;  // cp.async; false: plain loads and stores (sm_75)
  unsigned tile_m = 16, tile_n = 64, tile_k = 256;
  unsigned stages = 4;
  unsigned warps_m = 1, warps_n = 1, warps_k = 4;

  constexpr bool operator==(const GemmConfig&) const = default;
  constexpr unsigned warps() const { return warps_m * warps_n * warps_k; }
  constexpr unsigned copy_warps() const { return kernel == GemmKernel::wgmma ? 4 : 0; }
  constexpr unsigned threads() const { return 32 * (warps() + copy_warps()); }
  constexpr unsigned warp_rows() const { return tile_n / warps_n; }                     // weight rows of one warp
  constexpr unsigned warp_tokens() const { return tile_m / warps_m; }                   // tokens of one warp
  constexpr unsigned accumulators() const { return warp_rows() * warp_tokens() / 32; }  // of one thread

  // GemmKernel::wgmma: whether blocks of a cluster may share a tile along k (protocol/kernel_abi.hpp).
  constexpr bool can_split() const { return tile_n <= 128 && tile_m <= 128; }

  // The second argument of __launch_bounds__: with many accumulators a thread may have all 255 registers, otherwise
  // 128, so that a second block can stay on the multiprocessor.
  constexpr unsigned min_blocks() const {
    if (kernel == GemmKernel::wgmma) return 1;
    const unsigned blocks = 65536 / (threads() * (accumulators() > 32 ? 255 : 128));
    return blocks < 1 ? 1 : blocks;
  }

  // What the kernel asserts: a config is usable on an arch if this holds and smem_bytes(config)
  // (codegen/device/tile/smem_layout.cuh) fits there.
  constexpr bool well_formed() const {
    if (activation != DType::f16 && activation != DType::bf16) return false;
    if (activation == DType::bf16 && mma == MmaKind::mma_m16n8k8) return false;
    if ((kernel == GemmKernel::wgmma) != (mma == MmaKind::wgmma_m64k16)) return false;
    if (weight_bits != 4) return false;
    if (warps_m == 0 || warps_n == 0 || warps_k == 0 || threads() > 1024) return false;
    if (tile_m == 0 || tile_m % (8 * warps_m) != 0) return false;
    if (tile_n == 0 || tile_n % (16 * warps_n) != 0) return false;
    if (tile_k == 0 || tile_k % (64 * warps_k) != 0) return false;
    if (async_copy ? stages < 2 : stages != 2) return false;
    if (kernel == GemmKernel::wgmma) {
      // Two warp groups of whole wgmmas, an n that wgmma has and slabs of 16 tokens, boxes of at most 256.
      const bool n_exists = tile_m == 16 || tile_m == 32 || tile_m == 48 || tile_m == 64 || tile_m == 96 ||
                            tile_m == 128 || tile_m == 192 || tile_m == 256;
      const unsigned row_groups = warps_n / 4, ways = warps_k;
      const bool ways_exist = ways == 1 || ways == 2 || ways == 4;
      return async_copy && warps_m == 1 && ways_exist && (ways == 1 || can_split()) && warps_n % 4 == 0 &&
             tile_n % (64 * row_groups) == 0 && accumulators() <= 128 && threads() <= 640 && n_exists &&
             (tile_k == 64 || tile_k % 128 == 0);
    }
    // The copies and the store give each thread a column of 16-byte chunks: of activations, of weights, of output.
    return threads() % (tile_k / 8) == 0 && threads() % (tile_k / 2) == 0 && threads() % (tile_n / 8) == 0;
  }
  // The one formula for dynamic shared memory lives in codegen/device/tile/smem_layout.cuh: smem_bytes(config).
};

}  // namespace cubind
