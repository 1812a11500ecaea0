// What the machine keeps of threads, warps, blocks and clusters while they run.
#pragma once

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <vector>

#include <boost/context/fiber.hpp>

#include "tests/emulator/machine/machine.hpp"
#include "tests/emulator/machine/wgmma.hpp"

namespace cubind::emulator {

inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kWarpGroupWarps = 4;

enum class State : unsigned char { ready, instruction, waiting, done };

// What a waiting thread waits for: a counter that passes a value, or an mbarrier's phase of a parity.
struct Wait {
  const std::uint64_t* counter = nullptr;
  const Mbarrier* barrier = nullptr;
  std::uint64_t value = 0;  // the parity, or the counter's least value
  bool over() const { return barrier != nullptr ? barrier->phase() % 2 != value : *counter >= value; }
  bool operator==(const Wait&) const = default;
};

// cp.async: 16 bytes, zeros if bytes is 0.
struct Copy {
  unsigned address;
  const void* from;
  unsigned bytes;
  bool put;
};

struct Thread {
  boost::context::fiber fiber;
  boost::context::fiber* scheduler = nullptr;
  Warp* warp = nullptr;
  unsigned index = 0;
  Observer observer;
  State state = State::ready;
  WarpInstruction instruction = nullptr;
  void* arguments = nullptr;
  Wait wait;
  std::exception_ptr error;
  std::vector<Copy> open;                 // since the last commit
  std::vector<std::vector<Copy>> groups;  // committed, oldest first; may be empty ones
  std::vector<BoxChunk> stores;           // bulk stores, the same way
  std::vector<std::vector<BoxChunk>> store_groups;
  std::uint16_t store_actor = 0;  // 0: none yet
  std::uint32_t store_epoch = 1;  // of the open group
  bool cluster_arrived = false;
  std::uint64_t cluster_generation = 0;  // that the arrival waits for
};

struct Warp {
  Block* block = nullptr;
  unsigned first = 0;      // thread
  unsigned registers = 0;  // of a thread
  std::vector<unsigned> register_changes;
  bool ready = true;
  bool done = false;
  std::vector<Wait> waits;  // of its waiting lanes, each once
  std::unique_ptr<WgmmaQueue> wgmma;
  bool can_go_on() const {
    if (ready) return true;
    for (const auto& wait : waits) {
      if (wait.over()) return true;
    }
    return false;
  }
};

struct NamedBarrier {
  unsigned threads = 0, arrived = 0;
  std::uint64_t generation = 0;
  Knowledge gathered;
  std::vector<Thread*> waiting;
};

struct Block {
  Block(Cluster& cluster_, Dim3 index_, unsigned rank_, const LaunchShape& shape)
      : cluster(cluster_),
        index(index_),
        rank(rank_),
        shared(shape.shared_bytes),
        threads(shape.threads),
        warps(shape.threads / kLanes) {}
  Cluster& cluster;
  Dim3 index;
  unsigned rank;
  SharedMemory shared;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  NamedBarrier barrier;  // of the whole block
  std::array<NamedBarrier, 16> named;
  std::uint64_t free_registers = 0;
  bool done = false;
  std::map<std::uint16_t, Stamp> visitors;  // accesses by threads of other blocks
  std::vector<Stamp> grid_waits;
};

struct Cluster {
  std::uint32_t number = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  std::uint16_t next_actor = 0;
  unsigned arrived = 0;
  std::uint64_t generation = 0;
  Knowledge gathered, completed;
  bool done() const {
    for (const auto& block : blocks) {
      if (!block->done) return false;
    }
    return true;
  }
};

// A warp whose 32 threads have met at an instruction.
class WarpLanes {
 public:
  WarpLanes(Machine& machine_, Warp& warp_) : machine(machine_), warp(warp_) {}
  Thread& thread(unsigned lane) const { return warp.block->threads[warp.first + lane]; }
  Observer& observer(unsigned lane) const { return thread(lane).observer; }
  SharedMemory& shared() const { return warp.block->shared; }
  Block& block() const { return *warp.block; }
  bool reads_at_once() const { return machine.copies_at_once(); }
  // The lanes wait for this when the instruction returns.
  void wait_for(const Wait& wait) const {
    for (unsigned i = 0; i < kLanes; ++i) {
      thread(i).state = State::waiting;
      thread(i).wait = wait;
    }
  }
  Machine& machine;
  Warp& warp;
};

}  // namespace cubind::emulator
