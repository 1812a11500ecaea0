// The GPU tests' own kernels: data, the reference in double precision, and the comparison. Written without anything of
// codegen/device, so that a mistake there cannot be repeated here. Compiled by NVRTC at run time; includes nothing.
// Numbers of 16 bits are passed as unsigned short, `bf16` says which kind they are.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ u32 mix(u64 v) {
  v = (v + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  v ^= v >> 31;
  v *= 0x94d049bb133111ebull;
  return (u32)(v >> 32);
}
__device__ float uniform(u64 v) { return (mix(v) >> 8) * (1.0f / 16777216.0f); }

__device__ float to_float(u16 bits, int bf16) {
  if (bf16) return __uint_as_float((u32)bits << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ u16 from_float(float value, int bf16) {
  if (bf16) {  // to nearest even; no NaN comes here
    const u32 bits = __float_as_uint(value);
    return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

#define EACH(i, count) for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (count); i += (u64)gridDim.x * blockDim.x)

// x[m][ldx]: a sum of four uniform numbers, about normal; columns k and above are NaN, which no kernel may use. Sized so that
// the outputs' root mean square is a little above a power of two (1.02 symmetric, 1.05 to 1.43 with zero points): the largest
// error is bounded by 8 * tolerance * rms, and just above a power of two rounding alone costs an output of 4 to 8 rms the
// least, 2^-8 of 4. Elsewhere correctly rounded BF16 outputs of six rms come to 0.023 of the bound's 0.024.
extern "C" __global__ void fill_x(u16* x, u32 m, u32 k, u32 ldx, u64 seed, int bf16) {
  const float size = 1.02f / (0.5774f * 0.04826f) * rsqrtf((float)k);  // 0.04826: rms of the symmetric weights below
  EACH(i, (u64)m * ldx) {
    float sum = 0;
    for (int j = 0; j < 4; ++j) sum += uniform(seed + i * 4 + j) - 0.5f;
    x[i] = i % ldx < k ? from_float(sum * size, bf16) : (u16)0xffff;
  }
}

extern "C" __global__ void fill_bias(u16* bias, u32 n, u64 seed, int bf16) {
  EACH(i, n) bias[i] = from_float(uniform(seed + i) * 8 - 4, bf16);
}

// What the random weights are, by position. Per channel the scales and zero points of a row are one each, so they stay near
// the mean: rows of several times the others' size would have outputs of ten rms, whose correct rounding breaks the bound.
struct Weights {
  u64 seed;
  u32 n, k, group_k, k_groups;
  int zero_points, bf16;
  __device__ u32 code(u32 row, u32 column) const { return mix(seed + (u64)row * k + column) & 15; }
  __device__ u32 group(u32 column) const { return column / group_k; }
  __device__ u16 scale(u32 row, u32 g) const {
    const float spread = k_groups == 1 ? 0.002f : 0.01f;
    return from_float(0.01f - spread / 2 + spread * uniform((seed ^ 0x5ca1e) + (u64)row * k_groups + g), bf16);
  }
  __device__ u32 zero(u32 row, u32 g) const {
    if (!zero_points) return 8;
    const u32 any = mix((seed ^ 0x2e20) + (u64)row * k_groups + g);
    return k_groups == 1 ? 5 + any % 6 : any & 15;
  }
};

// w[n][k] as numbers: a 16-bit scale times a small integer is exact in a float.
extern "C" __global__ void plain_weights(float* w, Weights of) {
  EACH(i, (u64)of.n * of.k) {
    const u32 row = (u32)(i / of.k), column = (u32)(i % of.k), g = of.group(column);
    w[i] = to_float(of.scale(row, g), of.bf16) * (float)((int)of.code(row, column) - (int)of.zero(row, g));
  }
}

// The same, packed as kernel_abi.hpp says (weight_layout 1): a thread a word.
extern "C" __global__ void packed_weights(u32* packed, Weights of) {
  const u32 k_units = (of.k + 63) / 64, n_tiles = (of.n + 15) / 16;
  EACH(i, (u64)n_tiles * k_units * 128) {
    const u32 step = i % 4, lane = i / 4 % 32;
    const u32 unit = (u32)(i / 128 % k_units), tile = (u32)(i / 128 / k_units);
    u32 word = 0;
    for (u32 nibble = 0; nibble < 8; ++nibble) {
      const u32 j = nibble % 4, half = nibble / 4;  // register of the A fragment, half of it
      const u32 row = tile * 16 + lane / 4 + (j % 2) * 8;
      const u32 column = unit * 64 + step * 16 + (j / 2) * 8 + lane % 4 * 2 + half;
      u32 code = 8;  // of padding: rows have scale zero, columns the value zero
      if (row < of.n) code = column < of.k ? of.code(row, column) : of.zero(row, of.k_groups - 1);
      word |= code << (4 * nibble);  // bits 4 j + 16 half
    }
    packed[i] = word;
  }
}
extern "C" __global__ void packed_scales(u16* scales, u8* zeros, Weights of) {
  const u32 n_tiles = (of.n + 15) / 16;
  EACH(i, (u64)n_tiles * of.k_groups * 16) {
    const u32 row = (u32)(i / 16 / of.k_groups) * 16 + (u32)(i % 16 / 2) + (u32)(i % 2) * 8, g = (u32)(i / 16 % of.k_groups);
    scales[i] = row < of.n ? of.scale(row, g) : (u16)0;
    if (of.zero_points) zeros[i] = row < of.n ? (u8)of.zero(row, g) : (u8)0;
  }
}

// y[m][n] = sum over k of x[m][k] * w[n][k] in double precision: products of floats are exact. A block of 16 x 16
// threads does 64 tokens x 128 features, a thread 4 x 8.
extern "C" __global__ void __launch_bounds__(256) reference(const u16* x, u32 ldx, const float* w, double* y, u32 m, u32 n,
                                                            u32 k, int bf16) {
  __shared__ double xs[16][64 + 1], ws[16][128 + 1];
  const u32 tx = threadIdx.x % 16, ty = threadIdx.x / 16, n0 = blockIdx.x * 128, m0 = blockIdx.y * 64;
  double sum[4][8] = {};
  for (u32 k0 = 0; k0 < k; k0 += 16) {
    for (u32 i = threadIdx.x; i < 64 * 16; i += 256) {
      const u32 row = m0 + i / 16, column = k0 + i % 16;
      xs[i % 16][i / 16] = row < m && column < k ? (double)to_float(x[(u64)row * ldx + column], bf16) : 0;
    }
    for (u32 i = threadIdx.x; i < 128 * 16; i += 256) {
      const u32 row = n0 + i / 16, column = k0 + i % 16;
      ws[i % 16][i / 16] = row < n && column < k ? (double)w[(u64)row * k + column] : 0;
    }
    __syncthreads();
    for (u32 c = 0; c < 16; ++c) {
      double a[4], b[8];
#pragma unroll
      for (u32 i = 0; i < 4; ++i) a[i] = xs[c][ty + 16 * i];
#pragma unroll
      for (u32 j = 0; j < 8; ++j) b[j] = ws[c][tx + 16 * j];
#pragma unroll
      for (u32 i = 0; i < 4; ++i)
#pragma unroll
        for (u32 j = 0; j < 8; ++j) sum[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (u32 i = 0; i < 4; ++i)
    for (u32 j = 0; j < 8; ++j) {
      const u32 row = m0 + ty + 16 * i, column = n0 + tx + 16 * j;
      if (row < m && column < n) y[(u64)row * n + column] = sum[i][j];
    }
}

struct Comparison {
  double difference2, reference2;  // sums of squares
  u64 largest_bits;                // of the largest |difference|, as the bits of a double: ordered like integers
  u64 not_finite, outside;         // results that are NaN or infinite; elements outside [m][n] that lost their poison
};

// `out` is [rows][ldo], poisoned with 0xffff everywhere before the launch under test.
extern "C" __global__ void compare(const u16* out, u64 elements, u32 ldo, const double* ref, const u16* bias, u32 m, u32 n,
                                   int bf16, Comparison* result) {
  double difference2 = 0, reference2 = 0, largest = 0;
  u64 not_finite = 0, outside = 0;
  EACH(i, elements) {
    const u64 row = i / ldo, column = i % ldo;
    if (row >= m || column >= n) {
      outside += out[i] != 0xffff;
      continue;
    }
    const double expected = ref[row * n + column] + (bias ? (double)to_float(bias[column], bf16) : 0);
    const double got = to_float(out[i], bf16), difference = fabs(got - expected);
    reference2 += expected * expected;
    if (!(difference < 1e300)) {
      ++not_finite;
    } else {
      difference2 += difference * difference;
      largest = fmax(largest, difference);
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    difference2 += __shfl_down_sync(~0u, difference2, step);
    reference2 += __shfl_down_sync(~0u, reference2, step);
    largest = fmax(largest, __shfl_down_sync(~0u, largest, step));
    not_finite += __shfl_down_sync(~0u, not_finite, step);
    outside += __shfl_down_sync(~0u, outside, step);
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&result->difference2, difference2);
  atomicAdd(&result->reference2, reference2);
  atomicMax(&result->largest_bits, (u64)__double_as_longlong(largest));
  if (not_finite) atomicAdd(&result->not_finite, not_finite);
  if (outside) atomicAdd(&result->outside, outside);
}

// Counts the elements in which two results differ.
extern "C" __global__ void differing(const u16* a, const u16* b, u64 elements, u64* count) {
  u64 found = 0;
  EACH(i, elements) found += a[i] != b[i];
  if (found) atomicAdd(count, found);
}
