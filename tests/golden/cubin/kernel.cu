// nvcc 13.0 -std=c++20 -arch=sm_NN -cubin: a kernel with static shared memory, launch bounds and a stack frame.
struct Params {
  const float* in;
  float* out;
  unsigned n;
  unsigned pad[9];
};

extern "C" __global__ void __launch_bounds__(128) cubind_kernel(const __grid_constant__ Params params) {
  __shared__ float shared[25];
  float stack[40];
  for (int i = 0; i < 40; i++) stack[i] = params.in[i];
  for (unsigned i = 0; i < params.n; i++) stack[(i * 7 + params.n) % 40] += stack[(params.n + i) % 40];
  if (threadIdx.x < 25) shared[threadIdx.x] = stack[threadIdx.x];
  __syncthreads();
  params.out[threadIdx.x] = shared[threadIdx.x % 25] + stack[params.n % 40];
}
