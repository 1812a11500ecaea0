// Clusters on the emulated machine: shared memory of other blocks, its lifetime, arrivals from there, multicast.
#include "codegen/device/ptx/cluster.cuh"

#include "codegen/device/ptx/bar.cuh"
#include "codegen/device/ptx/cp_async_bulk.cuh"
#include "codegen/device/ptx/fence.cuh"
#include "codegen/device/ptx/mbarrier.cuh"
#include "codegen/device/ptx/special_registers.cuh"
#include "tests/emulator/machine_fixture.hpp"

namespace cubind::emulator {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class ClusterTest : public MachineTest {
 protected:
  std::string cluster_fault(const std::function<void()>& body, unsigned blocks = 2) {
    return fault({.grid = {2 * blocks, 1, 1}, .threads = 64, .shared_bytes = 4096, .cluster = {blocks, 1, 1}}, body);
  }
  static void cluster_barrier() {
    ptx::barrier_cluster_arrive_release();
    ptx::barrier_cluster_wait_acquire();
  }
};

INSTANTIATE_TEST_SUITE_P(AllSchedules, ClusterTest, ::testing::ValuesIn(kSchedules), schedule_name);

TEST_P(ClusterTest, BarrierOrdersAccessesOfAllBlocks) {
  const auto body = [](bool first, bool middle, bool relaxed, bool last) {
    const unsigned tid = ptx::tid_x(), rank = ptx::cluster_ctarank(), other = (rank + 1) % ptx::cluster_nctarank();
    if (first) cluster_barrier();
    ptx::st_cluster_u32(ptx::mapa(word(tid), other), 100 * other + tid);
    if (middle && !relaxed) cluster_barrier();
    if (relaxed) {
      ptx::barrier_cluster_arrive_relaxed();
      ptx::barrier_cluster_wait_acquire();
    }
    if (ptx::ld_shared_u32(word(tid)) != 100 * rank + tid) throw std::runtime_error("wrong value");
    if (ptx::ld_cluster_u32(ptx::mapa(word(tid), other)) != 100 * other + tid) throw std::runtime_error("wrong value");
    if (last) cluster_barrier();
  };
  EXPECT_EQ(cluster_fault([&] { body(true, true, false, true); }), "");
  EXPECT_EQ(cluster_fault([&] { body(true, true, false, true); }, 4), "");
  EXPECT_THAT(cluster_fault([&] { body(false, true, false, true); }), HasSubstr("may not have started"));
  EXPECT_NE(cluster_fault([&] { body(true, false, false, true); }), "");
  EXPECT_NE(cluster_fault([&] { body(true, true, true, true); }), "");
  EXPECT_THAT(cluster_fault([&] { body(true, true, false, false); }),
              AnyOf(HasSubstr("has exited"), HasSubstr("though nothing puts")));
}

TEST_P(ClusterTest, MemoryOfABlockThatMayHaveExitedIsFound) {
  const auto body = [](bool last) {
    ptx::st_shared_u32(word(ptx::tid_x()), 1);
    cluster_barrier();
    if (ptx::cluster_ctarank() == 1) ptx::ld_cluster_u32(ptx::mapa(word(ptx::tid_x()), 0));
    if (last) cluster_barrier();
  };
  EXPECT_EQ(cluster_fault([&] { body(true); }), "");
  EXPECT_THAT(cluster_fault([&] { body(false); }), AnyOf(HasSubstr("has exited"), HasSubstr("though nothing puts")));
}

TEST_P(ClusterTest, ArrivalsAndWaitsAlternate) {
  EXPECT_THAT(cluster_fault([] { ptx::barrier_cluster_wait_acquire(); }), HasSubstr("without having arrived"));
  EXPECT_NE(cluster_fault([] { ptx::barrier_cluster_arrive_release(); }), "");
  EXPECT_THAT(cluster_fault([] {
                if (ptx::cluster_ctarank() == 0 || ptx::tid_x() < 32) return cluster_barrier();
                ptx::bar_sync(1, 64);  // nobody else comes
              }),
              HasSubstr("deadlock"));
}

TEST_P(ClusterTest, WarpsThatHaveEndedAreNotWaitedFor) {
  EXPECT_EQ(cluster_fault([] {
              if (ptx::cluster_ctarank() == 0 || ptx::tid_x() < 32) cluster_barrier();
            }),
            "");
}

// Rank 1 writes sums into rank 0's memory and arrives at its mbarrier.
TEST_P(ClusterTest, RemoteArrivalReleasesWhatWasStored) {
  const auto body = [](bool fence, bool wait, unsigned arrivals) {
    const unsigned tid = ptx::tid_x(), barrier = word(512);
    if (tid == 0) {
      ptx::mbarrier_init(barrier, arrivals);
      if (fence) ptx::fence_mbarrier_init();
    }
    cluster_barrier();
    if (ptx::cluster_ctarank() == 1) {
      ptx::st_cluster_f32(ptx::mapa(word(tid), 0), static_cast<float>(tid));
      ptx::mbarrier_arrive_cluster(ptx::mapa(barrier, 0));
    } else {
      if (wait) ptx::mbarrier_wait_parity_cluster(barrier, 0);
      if (ptx::ld_shared_u32(word(tid)) != __builtin_bit_cast(unsigned, static_cast<float>(tid))) {
        throw std::runtime_error("wrong value");
      }
    }
  };
  EXPECT_EQ(cluster_fault([&] { body(true, true, 64); }), "");
  EXPECT_THAT(cluster_fault([&] { body(false, true, 64); }), HasSubstr("no fence between its init"));
  EXPECT_NE(cluster_fault([&] { body(true, false, 64); }), "");
  EXPECT_NE(cluster_fault([&] { body(true, true, 32); }), "");
  EXPECT_THAT(cluster_fault([&] { body(true, true, 65); }), HasSubstr("deadlock"));
}

TEST_P(ClusterTest, AsynchronousStoresAreCounted) {
  const auto body = [](unsigned bytes) {
    const unsigned tid = ptx::tid_x(), barrier = word(512);
    if (tid == 0) {
      ptx::mbarrier_init(barrier, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(barrier, bytes);
    }
    cluster_barrier();
    const float values[4] = {static_cast<float>(tid), 1, 2, 3};
    ptx::st_async_v4_f32(ptx::mapa(word(tid * 4), ptx::cluster_ctarank() ^ 1), values,
                         ptx::mapa(barrier, ptx::cluster_ctarank() ^ 1));
    ptx::mbarrier_wait_parity_cluster(barrier, 0);
    float read[4];
    ptx::ld_shared_v4_f32(read, word(tid * 4));
    if (read[0] != static_cast<float>(tid) || read[3] != 3) throw std::runtime_error("wrong value");
  };
  EXPECT_EQ(cluster_fault([&] { body(64 * 16); }), "");
  EXPECT_THAT(cluster_fault([&] { body(65 * 16); }), HasSubstr("wrong byte count"));
}

// Every block loads a half for both; consumers release a stage to both producers.
TEST_P(ClusterTest, MulticastFillsAllBlocks) {
  auto* source = static_cast<unsigned*>(memory.allocate("source", 4 * 512, false));
  for (unsigned i = 0; i < 512; ++i) source[i] = i;
  const auto body = [source](bool release_to_both, bool last_barrier) {
    const unsigned tid = ptx::tid_x(), full = word(512), empty = word(514), rank = ptx::cluster_ctarank();
    if (tid == 0) {
      ptx::mbarrier_init(full, 1);
      ptx::mbarrier_init(empty, release_to_both ? 64 : 32);
      ptx::fence_mbarrier_init();
    }
    cluster_barrier();
    for (unsigned step = 0; step < 4; ++step) {
      if (tid == 0) {
        ptx::mbarrier_wait_parity_cluster(empty, step % 2 ^ 1);
        ptx::mbarrier_arrive_expect_tx(full, 512);
        ptx::cp_async_bulk_shared_global_multicast(word(rank * 64), source + step * 128 + rank * 64, 256, full, 3);
      } else if (tid >= 32) {
        ptx::mbarrier_wait_parity(full, step % 2);
        for (unsigned i = tid - 32; i < 128; i += 32) {
          if (ptx::ld_shared_u32(word(i)) != step * 128 + i) throw std::runtime_error("wrong value");
        }
        ptx::mbarrier_arrive_cluster(ptx::mapa(empty, rank));
        if (release_to_both) ptx::mbarrier_arrive_cluster(ptx::mapa(empty, rank ^ 1));
      }
    }
    if (last_barrier) cluster_barrier();
  };
  EXPECT_EQ(cluster_fault([&] { body(true, true); }), "");
  EXPECT_NE(cluster_fault([&] { body(false, true); }), "");
  EXPECT_THAT(cluster_fault([&] { body(true, false); }),
              AnyOf(HasSubstr("has exited"), HasSubstr("though nothing puts")));
}

TEST_P(ClusterTest, BlockCopiesIntoAnother) {
  const auto body = [](bool fence) {
    const unsigned tid = ptx::tid_x(), barrier = word(512), other = ptx::cluster_ctarank() ^ 1;
    if (tid == 0) {
      ptx::mbarrier_init(barrier, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(barrier, 256);
    }
    ptx::st_shared_u32(word(tid), tid + 1000 * other);
    if (fence) ptx::fence_proxy_async();
    cluster_barrier();
    if (tid == 0) {
      ptx::cp_async_bulk_cluster_shared(ptx::mapa(word(64), other), word(0), 256, ptx::mapa(barrier, other));
    }
    ptx::mbarrier_wait_parity_cluster(barrier, 0);
    if (ptx::ld_shared_u32(word(64 + tid)) != tid + 1000 * ptx::cluster_ctarank())
      throw std::runtime_error("wrong value");
    cluster_barrier();
  };
  EXPECT_EQ(cluster_fault([&] { body(true); }), "");
  EXPECT_THAT(cluster_fault([&] { body(false); }), HasSubstr("without a proxy fence"));
}

}  // namespace
}  // namespace cubind::emulator
