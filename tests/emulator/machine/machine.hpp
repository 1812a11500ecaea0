// Runs a kernel's body on the host: a fiber for each CUDA thread, several blocks or clusters at a time. A thread runs
// until it needs others (a warp's instruction, a barrier, an mbarrier's phase) and then waits; which warp goes on is
// the schedule's choice, and the results must not depend on it.
//
// Errors are exceptions out of launch(): a warp instruction or barrier that not all threads reach, waits that nothing
// ends, copies or wgmmas in flight at exit, whatever SharedMemory, Mbarrier, WgmmaQueue and GlobalMemory find. One
// machine at a time in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/emulator/machine/global_memory.hpp"
#include "tests/emulator/machine/shared_memory.hpp"
#include "tests/emulator/machine/tensor_map.hpp"

namespace cubind::emulator {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  unsigned count() const { return x * y * z; }
};

// Copies: when the bytes of an asynchronous copy move, between its start and the wait for it; wgmmas likewise.
enum class Schedule {
  round_robin,  // every warp in turn; copies as late as allowed, the oldest first
  forward,      // the first warp that can goes on as far as it can; copies late
  backward,     // the last warp of the last block, lanes from 31 down; copies at once
  laggard,      // round robin, but one warp of the first block moves only when nothing else can; copies late, the
                // latest first
  random,       // any warp, any block, copies at any time
};
inline constexpr Schedule kSchedules[] = {Schedule::round_robin, Schedule::forward, Schedule::backward,
                                          Schedule::laggard, Schedule::random};
const char* name_of(Schedule schedule);

struct LaunchShape {
  Dim3 grid;
  unsigned threads = 32;
  unsigned shared_bytes = 0;
  Dim3 cluster{};                // blocks; divides the grid
  unsigned resident_blocks = 4;  // run together; at least a cluster
  bool dependent = false;        // of the launch before: buffers that it writes and all writes wait for griddepcontrol
};

struct Thread;
struct Warp;
struct Block;
struct Cluster;
class WarpLanes;

// What the threads of a warp ask for together: called once all 32 have come, with their arguments.
using WarpInstruction = void (*)(WarpLanes& lanes, void* const (&arguments)[32]);

class Machine {
 public:
  Machine(GlobalMemory& global, Schedule schedule, std::uint64_t seed);
  ~Machine();

  void launch(const LaunchShape& shape, const std::function<void()>& body);

  // What the running thread does, called by the twins of codegen/device/ptx.
  static Machine& current() { return *current_; }
  unsigned thread_index() const;
  Dim3 block_index() const;
  Dim3 grid() const { return shape_.grid; }
  Dim3 cluster() const { return shape_.cluster; }
  unsigned cluster_rank() const;
  void warp_instruction(WarpInstruction instruction, void* arguments);
  unsigned elected_lane() const { return elected_lane_; }

  void global_access(const void* address, std::size_t bytes, Access access) {
    global_access(address, bytes, bytes, access);
  }
  void global_access(const void* address, std::size_t bytes, std::size_t alignment, Access access);
  void grid_dependency_wait();

  // `address`: in the block's own shared memory or, from mapa, in that of any block of the cluster.
  void shared_read(void* to, unsigned address, unsigned bytes);
  void shared_write(unsigned address, const void* from, unsigned bytes);
  unsigned mapa(unsigned address, unsigned rank) const;
  void shared_store_async(unsigned address, const void* from, unsigned bytes, unsigned barrier);

  void block_barrier();
  void named_barrier(unsigned id, unsigned threads, bool wait);
  void warp_barrier();
  void cluster_arrive(bool release);
  void cluster_wait();
  void set_registers(unsigned registers, bool more);
  void fence_proxy_async();
  void fence_mbarrier_init();

  void mbarrier_init(unsigned address, unsigned count);
  void mbarrier_end(unsigned address);
  void mbarrier_arrive(unsigned address, unsigned expected_bytes);
  void mbarrier_expect(unsigned address, unsigned bytes);
  bool mbarrier_test(unsigned address, unsigned parity);
  void mbarrier_wait(unsigned address, unsigned parity);

  void copy_start(unsigned address, const void* from, unsigned bytes);
  void copy_commit();
  void copy_wait(unsigned pending);
  void copy_arrive(unsigned barrier);

  // blocks: a mask of ranks, 0 for the one that `address` is in.
  void bulk_load(unsigned address, const void* from, unsigned bytes, unsigned barrier, unsigned blocks);
  void bulk_load_cluster(unsigned address, unsigned from, unsigned bytes, unsigned barrier);
  void tensor_load(unsigned address, const void* map, unsigned rank, const int (&coordinates)[3], unsigned barrier,
                   unsigned blocks);
  void bulk_store(void* to, unsigned address, unsigned bytes);
  void tensor_store(const void* map, unsigned rank, const int (&coordinates)[3], unsigned address);
  void bulk_commit();
  void bulk_wait(unsigned pending);

 private:
  friend class WarpLanes;
  struct InFlight {
    Block* into;
    std::function<void()> land;
  };

  void start_cluster(Dim3 first);
  Warp* pick_warp();
  void run_warp(Warp& warp);
  void suspend();
  void finish_block(Block& block);
  void check_exit(const Thread& thread) const;
  bool copies_at_once();
  void land_one();
  [[noreturn]] void fail_deadlock() const;

  struct Place {  // an address of the cluster's shared memory
    Block& block;
    unsigned address;
    bool remote;
  };
  Place place_of(unsigned address) const;
  Place reach(unsigned address) const;  // for the running thread's copies, which leave their own trace
  Place visit(unsigned address);        // by the running thread itself
  Mbarrier& usable_mbarrier(const Place& place, bool by_async_proxy);
  void start_load(unsigned address, const std::vector<BoxChunk>& chunks, unsigned barrier, unsigned blocks);
  void start_store(const std::vector<BoxChunk>& chunks);
  void in_flight(Block& into, std::function<void()> land);
  static void arrive_at_block_barrier(WarpLanes& lanes, void* const (&arguments)[32]);
  static void arrive_at_named_barrier(WarpLanes& lanes, void* const (&arguments)[32]);
  static void arrive_at_cluster_barrier(WarpLanes& lanes, void* const (&arguments)[32]);
  static void complete_cluster_barrier(Cluster& cluster);
  static void change_registers(WarpLanes& lanes, void* const (&arguments)[32]);

  static Machine* current_;
  GlobalMemory& global_;
  Schedule schedule_;
  std::mt19937_64 random_;
  LaunchShape shape_;
  const std::function<void()>* body_ = nullptr;
  std::vector<std::unique_ptr<Cluster>> clusters_;  // resident
  std::uint32_t clusters_started_ = 0;
  Warp* laggard_ = nullptr;
  std::size_t turn_ = 0;
  unsigned elected_lane_ = 0;
  Thread* running_ = nullptr;
  std::vector<InFlight> in_flight_;  // oldest first
  std::uint64_t polls_ = 0;          // in vain, one after the other
};

}  // namespace cubind::emulator
