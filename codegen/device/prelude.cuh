// What every device header starts from: the words for "device function" and "loop to unroll" under NVRTC, and under
// g++, which compiles the same headers for the planner (constexpr parts) and for the emulator (all of it).
#pragma once

#if defined(__CUDACC__)
#define CUBIND_DEVICE __device__ __forceinline__
#define CUBIND_HD __host__ __device__ __forceinline__
#define CUBIND_UNROLL _Pragma("unroll")
#define CUBIND_NO_UNROLL _Pragma("unroll 1")
#else
#define CUBIND_DEVICE inline
#define CUBIND_HD inline
#define CUBIND_UNROLL
#define CUBIND_NO_UNROLL
#endif

namespace cubind {

using u64 = unsigned long long;

constexpr CUBIND_HD unsigned ceil_div(unsigned a, unsigned b) {
  return (a + b - 1) / b;
}

// Bit widths and counts that the MMA instructions and the packed layout fix.
inline constexpr unsigned kWarpLanes = 32;
inline constexpr unsigned kMmaRows = 16;     // output features of one MMA: its M side
inline constexpr unsigned kMmaTokens = 8;    // its N side
inline constexpr unsigned kMmaK = 16;        // its K; m16n8k8 twice on sm_75
inline constexpr unsigned kChunkBytes = 16;  // one copy of the pipeline, one row of an ldmatrix matrix

}  // namespace cubind
