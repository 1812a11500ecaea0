// mbarriers, bulk and tensor copies, proxy fences, named barriers: small kernels, each with one fault, and their
// correct twin.
#include <cstring>

#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/cp_async.cuh"
#include "codegen/device/ptx/cp_async_bulk.cuh"
#include "codegen/device/ptx/cp_async_bulk_tensor.cuh"
#include "codegen/device/ptx/elect.cuh"
#include "codegen/device/ptx/fence.cuh"
#include "codegen/device/ptx/global_memory.cuh"
#include "codegen/device/ptx/griddepcontrol.cuh"
#include "codegen/device/ptx/mbarrier.cuh"
#include "codegen/device/ptx/setmaxnreg.cuh"
#include "codegen/device/ptx/special_registers.cuh"
#include "tests/emulator/machine_fixture.hpp"

namespace cubind::emulator {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class AsyncCopyTest : public MachineTest {
 protected:
  static constexpr unsigned kStages = 2, kSteps = 7, kStageBytes = 512, kConsumers = 64;

  // Warp 0 copies `kSteps` stages into a ring, two warps add them up: what goes wrong is told by name.
  struct Faults {
    bool no_wait_full = false, no_wait_empty = false, early_release = false, one_releases = false;
    bool no_init_fence = false, no_init_barrier = false, wrong_parity = false, no_arrival = false;
    int extra_expected = 0;
    unsigned arrivals = kConsumers;
  };
  std::string ring(const Faults& faults) {
    auto* source = static_cast<unsigned*>(memory.allocate("source", kSteps * kStageBytes, false));
    for (unsigned i = 0; i < kSteps * kStageBytes / 4; ++i) source[i] = i;
    return fault(32 + kConsumers, [&] { ring_body(faults, source); });
  }

  static void ring_body(const Faults& faults, const unsigned* source) {
    const unsigned tid = ptx::tid_x(), full = word(0), empty = full + 8 * kStages, stages = full + 128;
    if (tid == 0) {
      for (unsigned s = 0; s < kStages; ++s) {
        ptx::mbarrier_init(full + 8 * s, 1);
        ptx::mbarrier_init(empty + 8 * s, faults.arrivals);
      }
      if (!faults.no_init_fence) ptx::fence_mbarrier_init();
    }
    if (!faults.no_init_barrier) ptx::bar_sync();
    if (tid < 32) {
      for (unsigned step = 0; step < kSteps; ++step) {
        const unsigned s = step % kStages, parity = step / kStages % 2;
        if (!faults.no_wait_empty) ptx::mbarrier_wait_parity(empty + 8 * s, parity ^ (faults.wrong_parity ? 0 : 1));
        if (!ptx::elect_sync()) continue;
        const auto expected = static_cast<int>(kStageBytes) + faults.extra_expected;
        ptx::mbarrier_arrive_expect_tx(full + 8 * s, static_cast<unsigned>(expected));
        const unsigned to = stages + s * kStageBytes;
        ptx::cp_async_bulk_shared_global(to, source + step * kStageBytes / 4, 128, full + 8 * s);
        ptx::cp_async_bulk_shared_global(to + 128, source + step * kStageBytes / 4 + 32, 384, full + 8 * s);
      }
      return;
    }
    unsigned sum = 0, expected = 0;
    for (unsigned step = 0; step < kSteps; ++step) {
      const unsigned s = step % kStages, parity = step / kStages % 2, i = tid - 32;
      if (!faults.no_wait_full) ptx::mbarrier_wait_parity(full + 8 * s, parity);
      if (faults.early_release) ptx::mbarrier_arrive(empty + 8 * s);
      for (unsigned j = 0; j < 2; ++j) {
        sum += ptx::ld_shared_u32(stages + s * kStageBytes + (i + 64 * j) * 4);
        expected += step * kStageBytes / 4 + i + 64 * j;
      }
      const bool releases = !faults.early_release && (!faults.one_releases || i == 0);
      if (releases && !(faults.no_arrival && i == 7)) ptx::mbarrier_arrive(empty + 8 * s);
    }
    if (sum != expected) throw std::runtime_error("wrong sum");
  }
};

INSTANTIATE_TEST_SUITE_P(AllSchedules, AsyncCopyTest, ::testing::ValuesIn(kSchedules), schedule_name);

TEST_P(AsyncCopyTest, RingOfStagesRuns) {
  EXPECT_EQ(ring({}), "");
}

TEST_P(AsyncCopyTest, StageReadBeforeItsPhaseCompletesIsFound) {
  EXPECT_THAT(ring({.no_wait_full = true}), AnyOf(HasSubstr("on its way"), HasSubstr("before it is written"),
                                                  HasSubstr("without waiting for the mbarrier")));
}

TEST_P(AsyncCopyTest, StageOverwrittenBeforeAllConsumersReleasedItIsFound) {
  EXPECT_THAT(ring({.no_wait_empty = true}), AnyOf(HasSubstr("without a barrier after a read"), HasSubstr("on its way"),
                                                   HasSubstr("written twice"), HasSubstr("more arrivals")));
  EXPECT_THAT(ring({.early_release = true}), AnyOf(HasSubstr("without a barrier after a read"), HasSubstr("on its way"),
                                                   HasSubstr("without waiting for the mbarrier")));
  EXPECT_THAT(ring({.one_releases = true, .arrivals = 1}),
              AnyOf(HasSubstr("without a barrier after a read"), HasSubstr("on its way"), HasSubstr("missed"),
                    HasSubstr("without waiting for the mbarrier")));
}

TEST_P(AsyncCopyTest, WrongByteCountIsFound) {
  EXPECT_THAT(ring({.extra_expected = 16}), HasSubstr("wrong byte count"));
  EXPECT_THAT(ring({.extra_expected = -384}),  // 128: what one of the two copies brings
              AnyOf(HasSubstr("wrong byte count"), HasSubstr("without waiting for the mbarrier")));
}

TEST_P(AsyncCopyTest, WrongNumberOfArrivalsIsFound) {
  EXPECT_THAT(ring({.no_arrival = true}), HasSubstr("1 of 64 arrivals"));
  EXPECT_NE(ring({.arrivals = kConsumers - 1}), "");
  EXPECT_THAT(ring({.arrivals = kConsumers + 1}), HasSubstr("deadlock"));
}

TEST_P(AsyncCopyTest, UnfencedOrUnorderedInitIsFound) {
  EXPECT_THAT(ring({.no_init_fence = true}), HasSubstr("no fence between its init"));
  EXPECT_THAT(ring({.no_init_barrier = true}),
              AnyOf(HasSubstr("no barrier puts its init"), HasSubstr("no mbarrier here")));
}

TEST_P(AsyncCopyTest, WrongParityIsFound) {
  EXPECT_THAT(ring({.wrong_parity = true}), HasSubstr("deadlock"));
}

// Two phases pass while a thread that waits for the first does not take part in them.
TEST_P(AsyncCopyTest, MissedPhaseIsFound) {
  EXPECT_THAT(fault(96,
                    [] {
                      if (ptx::tid_x() == 0) ptx::mbarrier_init(word(0), 32);
                      if (ptx::tid_x() == 0) ptx::mbarrier_init(word(2), 32);
                      ptx::bar_sync();
                      if (ptx::tid_x() < 32) {
                        ptx::mbarrier_arrive(word(0));
                        ptx::mbarrier_arrive(word(0));
                        ptx::mbarrier_arrive(word(2));
                      } else if (ptx::tid_x() < 64) {
                        ptx::mbarrier_wait_parity(word(2), 0);
                        ptx::mbarrier_wait_parity(word(0), 0);
                      }
                    }),
              HasSubstr("missed"));
}

TEST_P(AsyncCopyTest, CopyInFlightAtExitIsFound) {
  const auto* source = static_cast<const char*>(memory.allocate("source", 64, false));
  EXPECT_THAT(fault(32,
                    [source] {
                      if (ptx::tid_x() != 0) return;
                      ptx::mbarrier_init(word(0), 1);
                      ptx::fence_mbarrier_init();
                      ptx::mbarrier_arrive_expect_tx(word(0), 64);
                      ptx::cp_async_bulk_shared_global(word(16), source, 64, word(0));
                    }),
              HasSubstr("exits"));
}

TEST_P(AsyncCopyTest, CpAsyncCanArriveAtAnMbarrier) {
  auto* source = static_cast<unsigned*>(memory.allocate("source", 32 * 16, false));
  for (unsigned i = 0; i < 128; ++i) source[i] = i;
  const auto body = [source](bool wait) {
    const unsigned tid = ptx::tid_x();
    if (tid == 0) ptx::mbarrier_init(word(0), 32);
    ptx::bar_sync();
    if (tid < 32) {
      ptx::cp_async_cg_16(word(4 + tid * 4), source + tid * 4, 16);
      ptx::cp_async_mbarrier_arrive_noinc(word(0));
      if (!wait) ptx::mbarrier_wait_parity(word(0), 0);
    } else {
      if (wait) ptx::mbarrier_wait_parity(word(0), 0);
      if (ptx::ld_shared_u32(word(4 + tid)) != tid) throw std::runtime_error("wrong value");
    }
  };
  EXPECT_EQ(fault(64, [&] { body(true); }), "");
  EXPECT_NE(fault(64, [&] { body(false); }), "");
}

// [10 rows][24 elements] u16, a box of 8 x 32 at (8, 4): columns from 24 and rows from 10 on are zeros.
TEST_P(AsyncCopyTest, TensorCopySwizzlesAndFillsWithZeros) {
  auto* source = static_cast<std::uint16_t*>(memory.allocate("source", 10 * 32 * 2, false));
  for (unsigned i = 0; i < 10 * 32; ++i) source[i] = static_cast<std::uint16_t>(i);
  const TensorMap map = encode_tensor_map(
      {.address = source, .size = {24, 10, 1}, .stride = {64}, .box = {32, 8, 1}, .swizzle_bytes = 64});
  const auto body = [&](unsigned expected_bytes) {
    const unsigned barrier = word(0), box = word(256), tid = ptx::tid_x();
    if (tid == 0) {
      ptx::mbarrier_init(barrier, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(barrier, expected_bytes);
      ptx::cp_async_bulk_tensor_2d_shared_global(box, &map, 8, 4, barrier);
    }
    ptx::bar_sync();
    ptx::mbarrier_wait_parity(barrier, 0);
    for (unsigned row = 0; row < 8; ++row) {
      const unsigned chunk = tid / 8, place = row * 64 + (chunk ^ row / 2 % 4) * 16 + tid % 8 * 2;
      const unsigned expected = tid + 8 < 24 && row + 4 < 10 ? (row + 4) * 32 + tid + 8 : 0;
      if (ptx::ld_shared_u16(box + place) != expected) throw std::runtime_error("wrong element");
    }
  };
  EXPECT_EQ(fault(32, [&] { body(512); }), "");
  EXPECT_THAT(fault(32, [&] { body(16 * 6 * 2); }), HasSubstr("wrong byte count"));
}

// [3 planes][4 rows][16 elements] u16: a box of 16 x 2 x 2 from (0, 3, 1) on, of which one row of each plane exists,
// goes in and to another tensor out again.
TEST_P(AsyncCopyTest, TensorStoreLeavesOutWhatIsOutside) {
  const auto make = [this](const char* name, bool writable) {
    return static_cast<std::uint16_t*>(memory.allocate(name, 3 * 4 * 32, writable));
  };
  std::uint16_t *source = make("source", false), *out = make("out", true);
  for (unsigned i = 0; i < 3 * 4 * 16; ++i) source[i] = static_cast<std::uint16_t>(i);
  TensorMapSpec spec{.address = source, .rank = 3, .size = {16, 4, 3}, .stride = {32, 128}, .box = {16, 2, 2}};
  const auto in_map = encode_tensor_map(spec);
  spec.address = out;
  const auto out_map = encode_tensor_map(spec);
  EXPECT_EQ(fault(32,
                  [&] {
                    const unsigned barrier = word(0), box = word(256);
                    if (ptx::tid_x() != 0) return;
                    ptx::mbarrier_init(barrier, 1);
                    ptx::fence_mbarrier_init();
                    ptx::mbarrier_arrive_expect_tx(barrier, 128);
                    ptx::cp_async_bulk_tensor_3d_shared_global(box, &in_map, 0, 3, 1, barrier);
                    while (!ptx::mbarrier_try_wait_parity(barrier, 0)) {
                    }
                    ptx::cp_async_bulk_tensor_3d_global_shared(&out_map, 0, 3, 1, box);
                    ptx::cp_async_bulk_commit_group();
                    ptx::cp_async_bulk_wait_group<0>();
                  }),
            "");
  for (unsigned i = 0; i < 3 * 4 * 16; ++i) {
    EXPECT_EQ(out[i], i / 16 % 4 == 3 && i / 64 >= 1 ? i : 0xffffu) << i;
  }
  EXPECT_THAT(fault(32,
                    [&] {
                      if (ptx::tid_x() != 0) return;
                      ptx::mbarrier_init(word(0), 1);
                      ptx::fence_mbarrier_init();
                      ptx::cp_async_bulk_tensor_2d_shared_global(word(256), &in_map, 0, 3, word(0));
                    }),
              HasSubstr("rank 3 used by a copy of 2"));
}

TEST(TensorMap, RulesOfTheDriverAreChecked) {
  alignas(16) static std::uint16_t data[64];
  const TensorMapSpec good{.address = data, .size = {16, 4, 1}, .stride = {32}, .box = {16, 4, 1}, .swizzle_bytes = 32};
  EXPECT_NO_THROW(encode_tensor_map(good));
  auto bad = good;
  bad.stride[0] = 24;
  EXPECT_THROW(encode_tensor_map(bad), std::runtime_error);
  bad = good;
  bad.box[1] = 257;
  EXPECT_THROW(encode_tensor_map(bad), std::runtime_error);
  bad = good;
  bad.box[0] = 32;
  EXPECT_THROW(encode_tensor_map(bad), std::runtime_error);
  bad = good;
  bad.address = data + 1;
  EXPECT_THROW(encode_tensor_map(bad), std::runtime_error);
}

TEST_P(AsyncCopyTest, BulkStoreNeedsTheProxyFenceAndTheWait) {
  auto* out = static_cast<unsigned*>(memory.allocate("out", 128, true));
  const auto body = [out](bool fence, bool barrier, bool wait, bool reuse) {
    const unsigned tid = ptx::tid_x();
    ptx::st_shared_u32(word(tid), tid + 1);
    if (fence) ptx::fence_proxy_async_shared_cta();
    if (barrier) ptx::bar_sync();
    if (tid == 0) {
      ptx::cp_async_bulk_global_shared(out, word(0), 128);
      ptx::cp_async_bulk_commit_group();
      if (reuse) ptx::st_shared_u32(word(3), 0);
      if (wait) ptx::cp_async_bulk_wait_group_read<0>();
    }
  };
  EXPECT_EQ(fault(32, [&] { body(true, true, true, false); }), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(out[i], i + 1);
  EXPECT_THAT(fault(32, [&] { body(false, true, true, false); }), HasSubstr("without a proxy fence"));
  EXPECT_THAT(fault(32, [&] { body(true, false, true, false); }),
              AnyOf(HasSubstr("without a barrier after a write"), HasSubstr("before it is written")));
  EXPECT_THAT(fault(32, [&] { body(true, true, false, false); }), HasSubstr("bulk stores"));
  EXPECT_THAT(fault(32, [&] { body(true, true, true, true); }), HasSubstr("without a barrier after a read"));
}

TEST_P(AsyncCopyTest, StageThatThreadsWroteNeedsTheProxyFenceBeforeACopy) {
  const auto* source = static_cast<const char*>(memory.allocate("source", 128, false));
  const auto body = [source](bool fence) {
    if (ptx::tid_x() == 32) {
      ptx::mbarrier_init(word(64), 1);
      ptx::fence_mbarrier_init();
    }
    if (ptx::tid_x() < 32) ptx::st_shared_u32(word(ptx::tid_x()), 1);
    if (fence) ptx::fence_proxy_async_shared_cta();
    ptx::bar_sync();
    if (ptx::tid_x() == 0) {
      ptx::mbarrier_arrive_expect_tx(word(64), 128);
      ptx::cp_async_bulk_shared_global(word(0), source, 128, word(64));
    }
    ptx::mbarrier_wait_parity(word(64), 0);
  };
  EXPECT_EQ(fault(64, [&] { body(true); }), "");
  EXPECT_THAT(fault(64, [&] { body(false); }), HasSubstr("without a proxy fence"));
}

TEST_P(AsyncCopyTest, PollingForWhatNeverComesIsFound) {
  EXPECT_THAT(fault(32,
                    [] {
                      if (ptx::tid_x() == 0) ptx::mbarrier_init(word(0), 33);
                      ptx::bar_sync();
                      ptx::mbarrier_arrive(word(0));
                      while (!ptx::mbarrier_test_wait_parity(word(0), 0)) {
                      }
                    }),
              HasSubstr("1 of 33 arrivals"));
}

TEST_P(AsyncCopyTest, MbarrierIsNoOrdinaryMemory) {
  EXPECT_THAT(fault(32,
                    [] {
                      if (ptx::tid_x() != 0) return;
                      ptx::mbarrier_init(word(0), 1);
                      ptx::st_shared_u32(word(1), 0);
                    }),
              HasSubstr("part of an mbarrier"));
  EXPECT_THAT(fault(32, [] { ptx::mbarrier_arrive(word(0)); }), HasSubstr("no mbarrier here"));
}

// Warps 0 and 1 write, 2 and 3 read; 0 and 1 only arrive.
TEST_P(AsyncCopyTest, NamedBarriersOrderThoseWhoTakePart) {
  const auto body = [](unsigned threads, bool all_arrive) {
    const unsigned tid = ptx::tid_x();
    if (tid < 64) {
      ptx::st_shared_u32(word(tid), tid);
      if (all_arrive || tid >= 32) ptx::bar_arrive(3, threads);
    } else {
      ptx::bar_sync(3, threads);
      if (ptx::ld_shared_u32(word(tid - 64)) != tid - 64) throw std::runtime_error("wrong value");
    }
  };
  EXPECT_EQ(fault(128, [&] { body(128, true); }), "");
  EXPECT_THAT(fault(128, [&] { body(128, false); }), HasSubstr("deadlock"));
  EXPECT_NE(fault(128, [&] { body(96, false); }), "");
  EXPECT_THAT(fault(128, [&] { body(100, true); }), HasSubstr("not whole warps"));
}

TEST_P(AsyncCopyTest, WarpBarrierOrdersTheWarpOnly) {
  const auto body = [](unsigned other) {
    ptx::st_shared_u32(word(ptx::tid_x()), ptx::tid_x());
    ptx::bar_warp_sync();
    ptx::ld_shared_u32(word(ptx::tid_x() ^ other));
  };
  EXPECT_EQ(fault(64, [&] { body(5); }), "");
  EXPECT_NE(fault(64, [&] { body(32); }), "");
}

TEST_P(AsyncCopyTest, RegistersComeFromThePool) {
  const auto body = [](bool give) {
    if (ptx::tid_x() < 128) {
      if (give) ptx::setmaxnreg_dec<104>();
    } else {
      ptx::setmaxnreg_inc<184>();
    }
  };
  const LaunchShape shape{.threads = 384, .shared_bytes = 16};  // 168 each: 64 given, 16 taken twice
  EXPECT_EQ(fault(shape, [&] { body(true); }), "");
  EXPECT_THAT(fault(shape, [&] { body(false); }), HasSubstr("deadlock"));
  EXPECT_THAT(fault(shape, [] { ptx::setmaxnreg_dec<200>(); }), HasSubstr("the warp has 168"));
  EXPECT_THAT(fault(shape,
                    [] {
                      if (ptx::tid_x() < 96) ptx::setmaxnreg_dec<40>();
                    }),
              HasSubstr("the warps of a group execute different ones"));
}

TEST_P(AsyncCopyTest, DependentLaunchWaitsBeforeItTouchesWhatTheLaunchBeforeWrites) {
  auto* weights = static_cast<char*>(memory.allocate("weights", 64, false));
  auto* x = static_cast<char*>(memory.allocate("x", 64, false));
  auto* out = static_cast<char*>(memory.allocate("out", 64, true));
  memory.mark_of_launch_before(x);
  const auto body = [=](bool wait) {
    ptx::ld_global_nc_u16(weights);
    if (wait) ptx::griddepcontrol_wait();
    ptx::ld_global_nc_u16(x);
    if (ptx::tid_x() == 0) ptx::st_global_u16(out, 1);
  };
  const LaunchShape shape{.threads = 32, .shared_bytes = 16, .dependent = true};
  EXPECT_EQ(fault(shape, [&] { body(true); }), "");
  EXPECT_THAT(fault(shape, [&] { body(false); }), HasSubstr("is read before griddepcontrol.wait"));
  EXPECT_THAT(fault(shape, [=] { ptx::st_global_u16(out, 1); }), HasSubstr("written before griddepcontrol.wait"));
}

}  // namespace
}  // namespace cubind::emulator
