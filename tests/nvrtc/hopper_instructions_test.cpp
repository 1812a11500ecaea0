// The wrappers of Hopper's instructions, assembled for sm_90a: the front end alone does not look into inline assembly.
// The compiler must have nothing to say, such as that it serialized the wgmmas or put waits between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/embedded_headers.hpp"
#include "codegen/nvrtc/options.hpp"
#include "tests/nvrtc/kernels.hpp"

namespace cubind {
namespace {

// Every wrapper once, in no sensible order.
constexpr const char* kEveryInstruction = R"(
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/cluster.cuh"
#include "codegen/device/ptx/cp_async_bulk.cuh"
#include "codegen/device/ptx/cp_async_bulk_tensor.cuh"
#include "codegen/device/ptx/createpolicy.cuh"
#include "codegen/device/ptx/elect.cuh"
#include "codegen/device/ptx/fence.cuh"
#include "codegen/device/ptx/griddepcontrol.cuh"
#include "codegen/device/ptx/mbarrier.cuh"
#include "codegen/device/ptx/setmaxnreg.cuh"
#include "codegen/device/ptx/shared_memory.cuh"
#include "codegen/device/ptx/special_registers.cuh"
struct __align__(64) Map { unsigned long long words[16]; };
using namespace cubind::ptx;

extern "C" __global__ void __launch_bounds__(256, 1)
every(const __grid_constant__ Map map, const char* in, char* out, unsigned x) {
  const unsigned shared = dynamic_shared(), barrier = shared + 4096, rank = cluster_ctarank();
  griddepcontrol_wait();
  if (elect_sync()) {
    prefetch_tensormap(&map);
    mbarrier_init(barrier, 7);
    fence_mbarrier_init();
    mbarrier_expect_tx(barrier, x);
    mbarrier_arrive_expect_tx(barrier, 256);
    const auto first = createpolicy_evict_first(), last = createpolicy_evict_last();
    cp_async_bulk_prefetch_l2(in, 64);
    cp_async_bulk_shared_global(shared, in, 256, barrier);
    cp_async_bulk_shared_global(shared, in, 256, barrier, first);
    cp_async_bulk_shared_global_multicast(shared, in, 256, barrier, 3);
    cp_async_bulk_tensor_2d_shared_global(shared, &map, x, 0, barrier);
    cp_async_bulk_tensor_2d_shared_global(shared, &map, x, 0, barrier, last);
    cp_async_bulk_tensor_3d_shared_global(shared, &map, x, 0, 1, barrier);
    cp_async_bulk_tensor_3d_shared_global(shared, &map, x, 0, 1, barrier, last);
    cp_async_bulk_tensor_2d_shared_global_multicast(shared, &map, x, 0, barrier, 3);
    cp_async_bulk_tensor_3d_shared_global_multicast(shared, &map, x, 0, 1, barrier, 3);
  }
  setmaxnreg_dec<40>();
  setmaxnreg_inc<200>();
  while (!mbarrier_test_wait_parity(barrier, 0)) {}
  while (!mbarrier_try_wait_parity(barrier, 1)) {}
  mbarrier_wait_parity(barrier, 0);
  mbarrier_wait_parity(barrier, 1);
  mbarrier_wait_parity_cluster(barrier, 0);
  mbarrier_arrive(barrier);
  cp_async_mbarrier_arrive_noinc(barrier);
  bar_sync(1, 128);
  bar_arrive(x, 256);
  bar_sync(x, 256);
  bar_warp_sync();
  const unsigned there = mapa(shared, rank ^ 1), its_barrier = mapa(barrier, rank ^ 1);
  mbarrier_arrive_cluster(its_barrier);
  mbarrier_arrive_expect_tx_cluster(its_barrier, 16);
  float values[4];
  ld_cluster_v4_f32(values, there);
  st_cluster_u32(there + 16, ld_cluster_u32(there));
  st_cluster_f32(there + 20, values[0]);
  st_cluster_v4_f32(there + 32, values);
  st_async_v4_f32(there + 48, values, its_barrier);
  cp_async_bulk_cluster_shared(there, shared, 64, its_barrier);
  barrier_cluster_arrive_release();
  barrier_cluster_wait_acquire();
  barrier_cluster_arrive_relaxed();
  barrier_cluster_wait_acquire();
  fence_proxy_async();
  fence_proxy_async_shared_cta();
  cp_async_bulk_global_shared(out, shared, 256);
  cp_async_bulk_tensor_2d_global_shared(&map, 0, 1, shared);
  cp_async_bulk_tensor_3d_global_shared(&map, 0, 1, 2, shared);
  cp_async_bulk_commit_group();
  cp_async_bulk_wait_group_read<1>();
  cp_async_bulk_wait_group<0>();
  mbarrier_inval(barrier);
  griddepcontrol_launch_dependents();
  if (x == 1) out[0] = clusterid_x() + nclusterid_x() + cluster_nctarank();
}
)";

// A main loop in small: A fragments made from what the loop loads, double-buffered, a group running all the time.
constexpr const char* kWgmmaLoop = R"(
#include "codegen/device/ptx/shared_memory.cuh"
#include "codegen/device/ptx/special_registers.cuh"
#include "codegen/device/ptx/wgmma.cuh"
#include "codegen/device/ptx/wgmma_descriptor.cuh"
using namespace cubind::ptx;

CUBIND_DEVICE void fragment(unsigned (&a)[4][4], unsigned address, float scale) {
  CUBIND_UNROLL
  for (unsigned s = 0; s < 4; ++s) {
    ld_shared_v4_u32(a[s], address + s * 512);
    CUBIND_UNROLL
    for (unsigned j = 0; j < 4; ++j) a[s][j] = a[s][j] * 3 ^ __float_as_uint(scale);
  }
}

template <unsigned kCount>
CUBIND_DEVICE void multiply(float (&d)[kCount], unsigned (&a)[4][4], cubind::u64 b) {
  CUBIND_UNROLL
  for (unsigned s = 0; s < 4; ++s) wgmma_hold(a[s]);
  wgmma_hold(d);
  wgmma_fence();
  CUBIND_UNROLL
  for (unsigned s = 0; s < 4; ++s) WGMMA(d, a[s], b + s * 2);
  wgmma_commit_group();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) loop(float* out, unsigned steps, float scale) {
  constexpr unsigned kCount = TOKENS / 2;
  constexpr cubind::u64 kB = wgmma_descriptor(Swizzle::bytes_128, 1024);
  const unsigned shared = dynamic_shared(), tid = tid_x();
  float d[kCount];
  CUBIND_UNROLL
  for (unsigned i = 0; i < kCount; ++i) d[i] = 0;
  unsigned a[2][4][4];
  fragment(a[0], shared + tid * 16, scale);
  CUBIND_NO_UNROLL
  for (unsigned i = 0; i < steps; i += 2) {
    multiply(d, a[0], wgmma_descriptor_at(kB, shared + i * 1024));
    fragment(a[1], shared + tid * 16 + i * 2048, scale);
    wgmma_wait_group<0>();
    wgmma_hold(d);
    multiply(d, a[1], wgmma_descriptor_at(kB, shared + i * 1024 + 1024));
    fragment(a[0], shared + tid * 16 + i * 2048 + 2048, scale);
    wgmma_wait_group<0>();
    wgmma_hold(d);
  }
  CUBIND_UNROLL
  for (unsigned i = 0; i < kCount; ++i) out[i * THREADS + tid] = d[i];
}
)";

// "" or what is wrong.
std::string wrong_with(const std::string& source) {
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  for (const auto& header : embedded_headers()) headers.emplace_back(header.name, header.text);
  const auto compiled = compile(source, headers, compile_options(test_toolchain(), Arch{90, 'a'}));
  if (!compiled.ok()) return to_string(compiled.error()) + "\n" + compiled.failure_log;
  if (compiled->cubin.empty()) return "no cubin";
  return compiled->log;
}

TEST(HopperInstructions, AllAssemble) {
  EXPECT_EQ(wrong_with(kEveryInstruction), "");
}

TEST(HopperInstructions, WgmmaIsNotSerialized) {
  constexpr unsigned kTokens[] = {8, 16, 24, 32, 48, 64, 96, 128, 192, 256};
  const auto results = on_all_processors(2 * std::size(kTokens), [&](std::size_t i) {
    const std::string tokens = std::to_string(kTokens[i / 2]), type = i % 2 == 0 ? "bf16" : "f16";
    const auto wrong = wrong_with("#define TOKENS " + tokens + "\n#define THREADS 128\n#define WGMMA wgmma_m64k16_" +
                                  type + "\n" + kWgmmaLoop);
    return wrong.empty() ? wrong : type + ", n " + tokens + ": " + wrong;
  });
  for (const auto& result : results) EXPECT_EQ(result, "");
}

// The test above would see it: sums used while the group runs.
TEST(HopperInstructions, SumsUsedTooEarlyAreSaid) {
  std::string source = kWgmmaLoop;
  const std::string wait = "    wgmma_wait_group<0>();\n    wgmma_hold(d);\n";
  source.replace(source.find(wait), wait.size(), "    out[tid] = d[0];\n" + wait);
  EXPECT_THAT(wrong_with("#define TOKENS 64\n#define THREADS 128\n#define WGMMA wgmma_m64k16_bf16\n" + source),
              ::testing::HasSubstr("GMMA"));
}

}  // namespace
}  // namespace cubind
