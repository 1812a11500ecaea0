// The emulated machine finds what it is there to find: kernels of a few lines, each with one fault, and their correct
// twin.
#include "codegen/device/ptx/atom.cuh"
#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/cp_async.cuh"
#include "codegen/device/ptx/fma.cuh"
#include "codegen/device/ptx/global_memory.cuh"
#include "codegen/device/ptx/ldmatrix.cuh"
#include "codegen/device/ptx/mma.cuh"
#include "codegen/device/ptx/shared_memory.cuh"
#include "codegen/device/ptx/special_registers.cuh"
#include "tests/emulator/machine/float16.hpp"
#include "tests/emulator/machine_fixture.hpp"

namespace cubind::emulator {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(AllSchedules, MachineTest, ::testing::ValuesIn(kSchedules), schedule_name);

TEST_P(MachineTest, BarrierOrdersSharedWritesAndReads) {
  const auto exchange = [](bool barrier) {
    ptx::st_shared_u32(word(ptx::tid_x()), ptx::tid_x());
    if (barrier) ptx::bar_sync();
    const unsigned other = ptx::tid_x() ^ 37;
    if (ptx::ld_shared_u32(word(other)) != other) throw std::runtime_error("wrong value");
  };
  EXPECT_EQ(fault(64, [&] { exchange(true); }), "");
  EXPECT_THAT(fault(64, [&] { exchange(false); }), HasSubstr("shared memory"));
}

TEST_P(MachineTest, ReadOfUnwrittenSharedMemoryIsFound) {
  EXPECT_THAT(fault(32, [] { ptx::ld_shared_u32(word(0)); }), HasSubstr("read before it is written"));
}

TEST_P(MachineTest, SharedBoundsAndAlignmentAreExact) {
  EXPECT_EQ(fault(32,
                  [] {
                    if (ptx::tid_x() == 0) ptx::st_shared_u32(word(1023), 1);
                  }),
            "");
  EXPECT_THAT(fault(32,
                    [] {
                      if (ptx::tid_x() == 0) ptx::st_shared_u32(word(1024), 1);
                    }),
              HasSubstr("out of bounds"));
  EXPECT_THAT(fault(32,
                    [] {
                      if (ptx::tid_x() == 0) ptx::st_shared_u32(word(0) + 2, 1);
                    }),
              HasSubstr("misaligned"));
}

TEST_P(MachineTest, CopyMayBeReadAfterWaitAndBarrierOnly) {
  const auto* source = static_cast<const char*>(memory.allocate("source", 32 * 16, false));
  const auto copy = [source](bool wait, bool barrier) {
    const unsigned tid = ptx::tid_x();
    ptx::cp_async_cg_16(word(tid * 4), source + tid * 16, tid == 5 ? 0 : 16);
    ptx::cp_async_commit_group();
    if (wait) ptx::cp_async_wait_group<0>();
    if (barrier) ptx::bar_sync();
    const unsigned other = (tid + 1) % 32;
    if (ptx::ld_shared_u32(word(other * 4)) != (other == 5 ? 0 : ~0u)) throw std::runtime_error("wrong value");
    ptx::cp_async_wait_group<0>();
  };
  EXPECT_EQ(fault(32, [&] { copy(true, true); }), "");
  EXPECT_THAT(fault(32, [&] { copy(false, true); }), HasSubstr("on its way"));
  EXPECT_NE(fault(32, [&] { copy(true, false); }), "");
}

TEST_P(MachineTest, CopyInFlightAtExitIsFound) {
  const auto* source = static_cast<const char*>(memory.allocate("source", 16, false));
  EXPECT_THAT(fault(32,
                    [source] {
                      if (ptx::tid_x() == 0) ptx::cp_async_cg_16(word(0), source, 16);
                    }),
              HasSubstr("copies in flight at exit"));
}

TEST_P(MachineTest, DivergentWarpIsFound) {
  unsigned ignored[4];
  EXPECT_THAT(fault(32,
                    [&] {
                      ptx::st_shared_u32(word(ptx::tid_x()), 0);
                      if (ptx::tid_x() != 3) ptx::ldmatrix_x4(ignored, word(0));
                    }),
              HasSubstr("divergent warp"));
  EXPECT_THAT(fault(64,
                    [] {
                      if (ptx::tid_x() < 32) ptx::bar_sync();
                    }),
              HasSubstr("deadlock"));
}

TEST_P(MachineTest, GlobalBoundsAreExact) {
  auto* out = static_cast<char*>(memory.allocate("out", 6, true));
  auto* in = static_cast<char*>(memory.allocate("in", 6, false));
  EXPECT_EQ(fault(32,
                  [=] {
                    if (ptx::tid_x() < 3) ptx::st_global_u16(out + ptx::tid_x() * 2, 1);
                  }),
            "");
  EXPECT_THAT(fault(32,
                    [=] {
                      if (ptx::tid_x() < 4) ptx::st_global_u16(out + ptx::tid_x() * 2, 1);
                    }),
              HasSubstr("out: access at byte 6 of 6"));
  EXPECT_THAT(fault(32, [=] { ptx::ld_global_nc_u16(in - 2); }), HasSubstr("access"));
  EXPECT_THAT(fault(32,
                    [=] {
                      if (ptx::tid_x() == 0) ptx::st_global_u16(in, 1);
                    }),
              HasSubstr("in: written"));
  EXPECT_THAT(fault(32, [=] { ptx::ld_global_nc_u16(out); }), HasSubstr("out: read as constant"));
}

// Each block leaves 16 bytes; the one that arrives last reads them all.
TEST_P(MachineTest, AtomicAndBarrierOrderBlocks) {
  auto* counter = static_cast<unsigned*>(memory.allocate("counter", 4, true));
  auto* sums = static_cast<char*>(memory.allocate("sums", 3 * 16, true));
  const auto meet = [=](bool before, bool after) {
    const float value[4] = {1, 2, 3, 4};
    if (ptx::tid_x() == 32) ptx::st_global_v4_f32(sums + ptx::ctaid_z() * 16, value);
    if (before) ptx::bar_sync();
    if (ptx::tid_x() == 0) ptx::st_shared_u32(word(0), ptx::atom_acq_rel_gpu_inc_u32(counter, 2));
    ptx::bar_sync();
    if (ptx::ld_shared_u32(word(0)) != 2) return;
    if (after && ptx::tid_x() == 40) {
      for (unsigned z = 0; z < 3; ++z) {
        float read[4];
        ptx::ld_global_cg_v4_f32(read, sums + z * 16);
        if (read[3] != 4) throw std::runtime_error("wrong value");
      }
    }
  };
  *counter = 0;
  EXPECT_EQ(fault(64, [&] { meet(true, true); }, {1, 1, 3}), "");
  EXPECT_EQ(*counter, 0u);
  EXPECT_THAT(fault(64, [&] { meet(false, true); }, {1, 1, 3}), HasSubstr("nothing puts that before"));
}

// A[row][k] = row + k / 16, B[k][n] = (k == n): D[row][n] = A[row][n].
TEST_P(MachineTest, MmaFollowsTheFragmentLayout) {
  const auto pair = [](double low, double high) { return double_to_f16(low) | double_to_f16(high) << 16; };
  const auto identity = [](unsigned k, unsigned n) { return k == n ? 1.0 : 0.0; };
  EXPECT_EQ(fault(32,
                  [&] {
                    const unsigned g = ptx::tid_x() / 4, t = ptx::tid_x() % 4;
                    const auto a = [&](unsigned row, unsigned k) { return pair(row + k / 16.0, row + (k + 1) / 16.0); };
                    const auto b = [&](unsigned k) { return pair(identity(k, g), identity(k + 1, g)); };
                    const unsigned fragment[4] = {a(g, 2 * t), a(g + 8, 2 * t), a(g, 8 + 2 * t), a(g + 8, 8 + 2 * t)};
                    float whole[4] = {}, halves[4] = {};
                    ptx::mma_m16n8k16_f16(whole, fragment, b(2 * t), b(8 + 2 * t));
                    ptx::mma_m16n8k8_f16(halves, fragment[0], fragment[1], b(2 * t));
                    ptx::mma_m16n8k8_f16(halves, fragment[2], fragment[3], b(8 + 2 * t));
                    for (unsigned e = 0; e < 4; ++e) {
                      const float expected = static_cast<float>(g + e / 2 * 8 + (2 * t + e % 2) / 16.0);
                      if (whole[e] != expected || halves[e] != expected) throw std::runtime_error("wrong element");
                    }
                  }),
            "");
}

TEST(Float16, EveryValueSurvivesTheWayThroughDouble) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const bool f16_nan = (bits & 0x7fff) > 0x7c00, bf16_nan = (bits & 0x7fff) > 0x7f80;
    EXPECT_TRUE(f16_nan || double_to_f16(f16_to_double(bits)) == bits) << bits;
    EXPECT_TRUE(bf16_nan || double_to_bf16(bf16_to_double(bits)) == bits) << bits;
  }
}

TEST(Float16, TiesRoundToEvenAndSubnormalsStay) {
  EXPECT_EQ(double_to_f16(2049), double_to_f16(2048));
  EXPECT_EQ(double_to_f16(2051), double_to_f16(2052));
  EXPECT_EQ(double_to_f16(0x1p-24), 1u);
  EXPECT_EQ(double_to_f16(0x1p-25), 0u);
  EXPECT_EQ(double_to_f16(65520), 0x7c00u);
  EXPECT_EQ(ptx::fma_rn_bf16x2(0x000f0001, 0x7f007f00, 0), 0x3e703c80u);  // 15 and 1 times 2^-133, times 2^127
}

}  // namespace
}  // namespace cubind::emulator
