// Where the tensor core's operands and results really lie: one product at a time. An A operand with a single 1, in the register
// and half that `where` names, meets every B operand with a single 1, placed in shared memory; what comes out is not zero
// exactly where row of A and column of B cross, and only if their k is the same. Written without anything of codegen/device.
// Compiled by NVRTC at run time; includes nothing.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define ONE 0x3c00u  // f16

__device__ u32 shared_address(const void* pointer) { return (u32)__cvta_generic_to_shared(pointer); }

// Register j of a thread's A operand; where: thread * 8 + register * 2 + half.
__device__ u32 a_register(u32 where, u32 thread, u32 j) {
  return where / 8 == thread && where / 2 % 4 == j ? ONE << (16 * (where % 2)) : 0;
}

// mma.m16n8k16, a warp a block, blockIdx.x: which A. found[A][n * 16 + k of B]: lane * 4 + register of the result that is
// not zero, if one is. B comes through ldmatrix from [n 8][k 16].
extern "C" __global__ void probe_mma(const u32* where, int* found) {
  __shared__ __align__(128) u16 b[8 * 16];
  const u32 lane = threadIdx.x, at = where[blockIdx.x];
  const u32 row = shared_address(&b[lane % 8 * 16 + lane / 8 % 2 * 8]);
  for (u32 one = 0; one < 128; ++one) {
    for (u32 i = lane; i < 128; i += 32) b[i] = i == one ? ONE : 0;
    __syncwarp();
    u32 b0, b1;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(row) : "memory");
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a_register(at, lane, 0)), "r"(a_register(at, lane, 1)), "r"(a_register(at, lane, 2)),
                   "r"(a_register(at, lane, 3)), "r"(b0), "r"(b1));
    for (u32 r = 0; r < 4; ++r)
      if (d[r] != 0) found[blockIdx.x * 128 + one] = (int)(lane * 4 + r);
    __syncwarp();
  }
}

// ldmatrix.x4 of memory that holds its own indices: seen[lane][register].
extern "C" __global__ void probe_ldmatrix(u32* seen) {
  __shared__ __align__(128) u16 memory[256];
  const u32 lane = threadIdx.x;
  for (u32 i = lane; i < 256; i += 32) memory[i] = (u16)i;
  __syncwarp();
  u32 v[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(shared_address(&memory[lane * 8]))
               : "memory");
  for (u32 j = 0; j < 4; ++j) seen[lane * 4 + j] = v[j];
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// stmatrix.x4.trans of registers that hold lane * 8 + register * 2 + half: the memory after it.
extern "C" __global__ void probe_stmatrix(u16* memory_after) {
  __shared__ __align__(128) u16 memory[256];
  const u32 lane = threadIdx.x;
  u32 v[4];
  for (u32 j = 0; j < 4; ++j) v[j] = (lane * 8 + j * 2) | (lane * 8 + j * 2 + 1) << 16;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(&memory[lane * 8])),
               "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
  __syncwarp();
  for (u32 i = lane; i < 256; i += 32) memory_after[i] = memory[i];
}

// wgmma m64n8k16 with A in registers, a warp group a block; B at [n 8][k 64] in rows of 128 bytes, swizzled as TMA writes them,
// the first 16 k. found as above, thread * 4 + register.
extern "C" __global__ void probe_wgmma(const u32* where, int* found) {
  __shared__ __align__(1024) u16 b[8 * 64];
  const u32 thread = threadIdx.x, at = where[blockIdx.x];
  const u64 descriptor = (u64)(shared_address(b) >> 4) | (u64)1 << 16 | (u64)(1024 / 16) << 32 | (u64)1 << 62;
  for (u32 one = 0; one < 128; ++one) {
    const u32 n = one / 16, k = one % 16, place = n * 64 + ((k / 8) ^ n) * 8 + k % 8;
    for (u32 i = thread; i < 512; i += 128) b[i] = i == place ? ONE : 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[4] = {0, 0, 0, 0};
    u32 a0 = a_register(at, thread, 0), a1 = a_register(at, thread, 1), a2 = a_register(at, thread, 2), a3 = a_register(at, thread, 3);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(descriptor)
                 : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    for (u32 r = 0; r < 4; ++r)
      if (d[r] != 0) found[blockIdx.x * 128 + one] = (int)(thread * 4 + r);
    __syncthreads();
  }
}
#endif
