// Runs a kernel's body on the host: a fiber for each CUDA thread, several blocks at a time. A thread runs until it
// needs others (a warp's instruction, the block's barrier) and then waits; which warp goes on is the schedule's choice,
// and the results must not depend on it.
//
// Errors are exceptions out of launch(): a warp instruction or barrier that not all threads reach, copies in flight at
// exit, whatever SharedMemory and GlobalMemory find. One machine at a time in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <boost/context/fiber.hpp>

#include "tests/emulator/machine/global_memory.hpp"
#include "tests/emulator/machine/shared_memory.hpp"

namespace cubind::emulator {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// Copies: when the bytes of an asynchronous copy move, between its start and the wait for it.
enum class Schedule {
  round_robin,  // every warp in turn; copies as late as allowed
  forward,      // the first warp that can goes on as far as it can; copies late
  backward,     // the last warp of the last block, lanes from 31 down; copies at once
  laggard,      // round robin, but one warp of the first block moves only when nothing else can; copies late
  random,       // any warp, any block, copies at either end
};
inline constexpr Schedule kSchedules[] = {Schedule::round_robin, Schedule::forward, Schedule::backward,
                                          Schedule::laggard, Schedule::random};
const char* name_of(Schedule schedule);

struct LaunchShape {
  Dim3 grid;
  unsigned threads = 32;
  unsigned shared_bytes = 0;
};

// What a waiting thread of a warp asks for: `execute` gets the 32 lanes' arguments once all have come.
using WarpInstruction = void (*)(SharedMemory& shared, unsigned first_thread, void* const (&arguments)[32]);

class Machine {
 public:
  Machine(GlobalMemory& global, Schedule schedule, std::uint64_t seed);
  ~Machine();

  void launch(const LaunchShape& shape, const std::function<void()>& body);

  // What the running thread does, called by the twins of codegen/device/ptx.
  static Machine& current() { return *current_; }
  unsigned thread_index() const;
  Dim3 block_index() const;
  Dim3 grid() const { return grid_; }
  void global_access(const void* address, std::size_t bytes, Access access);
  SharedMemory& shared();
  void warp_instruction(WarpInstruction instruction, void* arguments);
  void block_barrier();
  void copy_start(unsigned address, const void* from, unsigned bytes);
  void copy_commit();
  void copy_wait(unsigned pending);

 private:
  struct Thread;
  struct Warp;
  struct Block;

  void start_block(Dim3 index);
  Warp* pick_warp();
  void run_warp(Warp& warp);
  void suspend();
  bool copies_at_once();

  static Machine* current_;
  GlobalMemory& global_;
  Schedule schedule_;
  std::mt19937_64 random_;
  Dim3 grid_;
  unsigned threads_ = 0, shared_bytes_ = 0;
  const std::function<void()>* body_ = nullptr;
  std::vector<std::unique_ptr<Block>> blocks_;  // resident
  Warp* laggard_ = nullptr;
  std::size_t turn_ = 0;
  Thread* running_ = nullptr;
};

}  // namespace cubind::emulator
