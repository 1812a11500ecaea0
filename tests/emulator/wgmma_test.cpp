// wgmma on the emulated machine: its operands' layouts, and what may be touched when.
#include "codegen/device/ptx/wgmma.cuh"

#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/cp_async_bulk.cuh"
#include "codegen/device/ptx/fence.cuh"
#include "codegen/device/ptx/mbarrier.cuh"
#include "codegen/device/ptx/special_registers.cuh"
#include "codegen/device/ptx/stmatrix.cuh"
#include "codegen/device/ptx/wgmma_descriptor.cuh"
#include "tests/emulator/machine/float16.hpp"
#include "tests/emulator/machine_fixture.hpp"

namespace cubind::emulator {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr unsigned kTokens = 24, kK = 32, kSums = kTokens / 2;

// Small integers, so that sums are exact.
float weight(unsigned row, unsigned k) {
  return static_cast<float>((row * 7 + k * 3) % 13) - 6;
}
float activation(unsigned token, unsigned k) {
  return static_cast<float>((token * 5 + k * 11) % 9) - 4;
}
float product(unsigned row, unsigned token) {
  float sum = 0;
  for (unsigned k = 0; k < kK; ++k) sum += weight(row, k) * activation(token, k);
  return sum;
}

struct Faults {
  bool no_proxy_fence = false, no_fence = false, no_wait = false, no_barrier = false;
  bool a_written_early = false, a_written_after_fence = false, d_written_early = false, d_read_early = false;
  bool b_written_early = false, one_warp_more = false;
};

class WgmmaTest : public MachineTest {
 protected:
  static unsigned pair(unsigned row, unsigned k) {
    return double_to_bf16(weight(row, k)) | double_to_bf16(weight(row, k + 1)) << 16;
  }
  static void fragment(unsigned (&a)[4], unsigned first_k) {
    const unsigned tid = ptx::tid_x(), row = tid / 32 * 16 + tid % 32 / 4, k = first_k + tid % 4 * 2;
    a[0] = pair(row, k);
    a[1] = pair(row + 8, k);
    a[2] = pair(row, k + 8);
    a[3] = pair(row + 8, k + 8);
  }

  // 64 rows x 24 tokens x 32 k with the activations written by the threads.
  static void body(ptx::Swizzle swizzle, const Faults& faults) {
    const unsigned tid = ptx::tid_x(), b = ptx::dynamic_shared();
    const unsigned row_bytes = kK * 2;  // swizzle of 64 bytes, or chunks of 8 x 16 bytes, [chunk][token]
    for (unsigned i = tid; i < kTokens * kK / 2; i += 128) {
      const unsigned token = i / (kK / 2), k = i % (kK / 2) * 2;
      unsigned place = token * row_bytes + k * 2;
      if (swizzle == ptx::Swizzle::bytes_64) place ^= token / 2 % 4 * 16;
      if (swizzle == ptx::Swizzle::none) place = k / 8 * (kTokens * 16) + token * 16 + k % 8 * 2;
      ptx::st_shared_u32(b + place, double_to_bf16(activation(token, k)) | double_to_bf16(activation(token, k + 1))
                                                                               << 16);
    }
    if (!faults.no_proxy_fence) ptx::fence_proxy_async_shared_cta();
    if (!faults.no_barrier) ptx::bar_sync();

    const bool swizzled = swizzle != ptx::Swizzle::none;
    const auto descriptor =
        swizzled ? ptx::wgmma_descriptor(swizzle, 8 * row_bytes) : ptx::wgmma_descriptor(swizzle, 128, kTokens * 16);
    const auto first = ptx::wgmma_descriptor_at(descriptor, b);
    const unsigned step = swizzled ? 2 : 2 * kTokens;  // 16 k further
    float d[kSums] = {};
    unsigned a[2][4];
    fragment(a[0], 0);
    fragment(a[1], 16);
    ptx::wgmma_hold(d);
    if (!faults.no_fence) ptx::wgmma_fence();
    ptx::wgmma_m64k16_bf16(d, a[0], first);
    ptx::wgmma_commit_group();
    ptx::wgmma_m64k16_bf16(d, a[1], first + step);
    if (faults.one_warp_more && tid >= 96) ptx::wgmma_m64k16_bf16(d, a[1], first + step);
    ptx::wgmma_commit_group();
    if (faults.a_written_early) a[1][2] = 0;
    if (faults.d_written_early) d[3] = 1;
    if (faults.b_written_early && tid == 0) ptx::st_shared_u32(b, 0);
    const float early = d[1];
    if (!faults.no_wait) ptx::wgmma_wait_group<1>();
    fragment(a[0], 0);
    if (!faults.no_wait) ptx::wgmma_wait_group<0>();
    if (faults.a_written_after_fence) {
      ptx::wgmma_fence();
      a[0][1] ^= 1;
      ptx::wgmma_m64k16_bf16(d, a[0], first);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
    }
    ptx::wgmma_hold(d);
    if (faults.d_read_early) d[1] = early;
    for (unsigned i = 0; i < kSums; ++i) {
      const unsigned row = tid / 32 * 16 + tid % 32 / 4 + i / 2 % 2 * 8, token = i / 4 * 8 + tid % 4 * 2 + i % 2;
      if (d[i] != product(row, token)) throw std::runtime_error("wrong sum");
    }
  }

  std::string multiply(const Faults& faults, ptx::Swizzle swizzle = ptx::Swizzle::bytes_64) {
    return fault(128, [&] { body(swizzle, faults); });
  }
};

INSTANTIATE_TEST_SUITE_P(AllSchedules, WgmmaTest, ::testing::ValuesIn(kSchedules), schedule_name);

TEST_P(WgmmaTest, FollowsTheLayoutsOfItsOperands) {
  EXPECT_EQ(multiply({}, ptx::Swizzle::bytes_64), "");
  EXPECT_EQ(multiply({}, ptx::Swizzle::none), "");
  EXPECT_NE(multiply({}, ptx::Swizzle::bytes_128), "");
}

TEST_P(WgmmaTest, MissingFencesAndBarriersAreFound) {
  EXPECT_THAT(multiply({.no_proxy_fence = true}), HasSubstr("without a proxy fence"));
  EXPECT_THAT(multiply({.no_barrier = true}),
              AnyOf(HasSubstr("without a barrier after a write"), HasSubstr("before it is written")));
  EXPECT_THAT(multiply({.no_fence = true}), HasSubstr("no wgmma_fence"));
}

TEST_P(WgmmaTest, OperandsTouchedBeforeTheWaitAreFound) {
  EXPECT_THAT(multiply({.a_written_early = true}), HasSubstr("a register of A was written"));
  EXPECT_THAT(multiply({.d_written_early = true}), HasSubstr("an accumulator was written"));
  EXPECT_THAT(multiply({.d_read_early = true}), HasSubstr("wrong sum"));
  EXPECT_THAT(multiply({.b_written_early = true}), HasSubstr("without a barrier after a read"));
}

TEST_P(WgmmaTest, RegisterWrittenBetweenFenceAndWgmmaIsFound) {
  EXPECT_THAT(multiply({.a_written_after_fence = true}), HasSubstr("after the last wgmma_fence"));
}

TEST_P(WgmmaTest, MissingWaitIsFound) {
  EXPECT_NE(multiply({.no_wait = true}), "");
}

TEST_P(WgmmaTest, WarpsOfAGroupMustAgree) {
  EXPECT_NE(multiply({.one_warp_more = true}), "");
}

// What a bulk copy has written needs its mbarrier and no fence; every lane waits.
TEST_P(WgmmaTest, OperandOfABulkCopyNeedsItsMbarrier) {
  auto* source = static_cast<std::uint16_t*>(memory.allocate("source", 256, false));
  for (unsigned i = 0; i < 128; ++i) source[i] = static_cast<std::uint16_t>(double_to_f16(1));
  const auto run = [source](unsigned waiting_lanes) {
    const unsigned barrier = word(512), tid = ptx::tid_x();
    if (tid == 0) {
      ptx::mbarrier_init(barrier, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(barrier, 256);
      ptx::cp_async_bulk_shared_global(word(0), source, 256, barrier);
    }
    ptx::bar_sync();
    if (tid % 32 < waiting_lanes) ptx::mbarrier_wait_parity(barrier, 0);
    const unsigned a[4] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
    float d[4];
    ptx::wgmma_fence();
    const auto b = ptx::wgmma_descriptor_at(ptx::wgmma_descriptor(ptx::Swizzle::bytes_32, 256), word(0));
    ptx::wgmma_m64k16_f16(d, a, b, false);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    if (d[0] != 16 || d[3] != 16) throw std::runtime_error("wrong sum");
  };
  EXPECT_EQ(fault(128, [&] { run(32); }), "");
  EXPECT_THAT(fault(128, [&] { run(0); }),
              AnyOf(HasSubstr("on its way"), HasSubstr("without waiting for the mbarrier")));
  EXPECT_THAT(fault(128, [&] { run(31); }), HasSubstr("a lane has not waited"));
}

// Registers as an accumulator of 16 rows x 8 columns holds them, stored column by column.
TEST_P(WgmmaTest, StmatrixTransposes) {
  EXPECT_EQ(fault(32,
                  [] {
                    const unsigned lane = ptx::tid_x(), g = lane / 4, t = lane % 4;
                    unsigned value[4];  // of matrix j: element g of rows 2t and 2t + 1
                    for (unsigned j = 0; j < 4; ++j)
                      value[j] = (j * 64 + 2 * t * 8 + g) | (j * 64 + (2 * t + 1) * 8 + g) << 16;
                    ptx::stmatrix_x4_trans(word(lane * 4), value);
                    ptx::bar_sync();
                    for (unsigned i = lane; i < 256; i += 32) {
                      if (ptx::ld_shared_u16(ptx::dynamic_shared() + i * 2) != i)
                        throw std::runtime_error("wrong element");
                    }
                  }),
            "");
}

}  // namespace
}  // namespace cubind::emulator
