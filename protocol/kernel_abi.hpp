// What a launcher and a kernel agree on. Seen by g++ and by NVRTC: no includes. Any change to GemmParams, to the
// meaning of a field, to the grid or to the workspace raises kLaunchAbi; any change to the packed weights raises
// kWeightLayout.
#pragma once

namespace cubind {

inline constexpr unsigned kLaunchAbi = 2;  // the newest; a kernel's own: KernelInfo::launch_abi
inline constexpr unsigned kWeightLayout = 1;

// The one entry of every cubin: extern "C" __global__ void cubind_kernel(const __grid_constant__ P), where P is
// GemmParams (launch_abi 1) or MappedGemmParams (launch_abi 2).
inline constexpr char kEntryName[] = "cubind_kernel";
inline constexpr unsigned kPlainLaunchAbi = 1, kMappedLaunchAbi = 2;

// Block = KernelInfo::threads; dynamic shared memory = KernelInfo::smem_bytes. Grid, with tiles = ceil(n / tile_n) *
// ceil(m / tile_m):
//   launch_abi 1   x = ceil(n / tile_n), y = ceil(m / tile_m), z = splits
//   launch_abi 2   splits 1: x = any number from 1 to tiles, which blocks share among them, best one for each SM;
//                  splits 2 or 4, only of tiles up to 128 x 128: x = tiles * splits, in clusters of `splits` blocks
//
// Workspace (launch_abi 1, only if splits > 1; 256-byte aligned; belongs to one launch at a time, so to one stream):
// first kWorkspaceCounterBytes of arrival counters, one u32 for each (x, y) tile at index y * gridDim.x + x, all zero
// before the first launch; every launch leaves them zero again. Then the partial sums, [tile][split][tile_m][tile_n]
// f32 with the tiles in the counters' order; they need no initial value. The block that arrives last at a tile adds the
// partial sums in the order of the splits, so the sum's order is fixed.
inline constexpr unsigned kWorkspaceCounterBytes = 16384;
inline constexpr unsigned kWorkspaceMaxTiles =
    kWorkspaceCounterBytes / 4;  // the planner splits no grid with more tiles

// Whether launch_abi 2 has so many splits of a tile.
constexpr bool cluster_exists(unsigned tile_m, unsigned tile_n, unsigned splits) {
  return splits == 1 || ((splits == 2 || splits == 4) && tile_m <= 128 && tile_n <= 128);
}

constexpr unsigned long long workspace_bytes(unsigned tile_m, unsigned tile_n, unsigned splits, unsigned n,
                                             unsigned m) {
  if (splits <= 1) return 0;
  const unsigned long long tiles =
      static_cast<unsigned long long>((n + tile_n - 1) / tile_n) * ((m + tile_m - 1) / tile_m);
  return kWorkspaceCounterBytes + tiles * splits * tile_m * tile_n * 4;
}

// out[m, n] = sum over k of x[m, k] * s[n, k / group] * (q[n, k] - z[n, k / group]) (+ bias[n]).
// weight_layout 1: np = n rounded up to 16, kp = k rounded up to 64, kg = number of scale groups (1 for per channel).
struct GemmParams {
  const void* x;               // [m, k] activation type, row stride ldx; 16-byte aligned rows
  const void* weights;         // packed q: [np/16][kp/64][lane 32][step 4] u32 for 4 bits; the padding is value zero
  const void* scales;          // [np/16][kg][8][2] of the activation type: pair g is rows {g, g + 8} of the 16-row tile
  const void* zeros;           // [np/16][kg][8][2] u8, same order; null for symmetric kernels (q is then offset by 8)
  const void* bias;            // [n] of the activation type, or null
  void* out;                   // [m, n] output type, row stride ldo
  void* workspace;             // see above; null if splits is 1
  unsigned m, n, k;            // as the caller's tensors have them, not padded
  unsigned ldx, ldo;           // in elements; ldx a multiple of 8
  unsigned k_groups;           // kg
  unsigned group_shift;        // group of k is k >> group_shift: 5, 6, 7, ...; 31 for per channel
  unsigned splits;             // launch_abi 1: gridDim.z; 2: blocks of a cluster
  unsigned k_tiles_per_split;  // split z does k tiles [z * this, min((z + 1) * this, ceil(kp / tile_k)))
};

// A CUtensorMap: what the driver makes of a tensor's address, shape and box, opaque.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

struct MappedGemmParams : GemmParams {
  TensorMap x_map;        // x as [m][k] of 16 bits; box: tile_m x 64, swizzled by 128 bytes; outside: zeros
  TensorMap weights_map;  // weights as [np/16][kp/64][128] u32; box: tile_n / 16 x tile_k / 64 x 128; outside: zeros
};

}  // namespace cubind
