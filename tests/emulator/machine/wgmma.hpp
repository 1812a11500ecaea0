// A warp's part of its warp group's wgmmas: 16 of the 64 rows. An operation is issued, closed into a group, and done
// when a wait retires the group. Until then the accumulators' registers hold NaN of a pattern of their own, and when it
// is done they must still do so: otherwise a thread wrote them. Registers of A are read again then and must not have
// changed. Those are the caller's arrays, so they must live until the wait, as wgmma.cuh says. B is read at issue or
// when it retires; the words count as read by the warp's wgmma actor until the wait.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "tests/emulator/machine/shared_memory.hpp"

namespace cubind::emulator {

// What each lane passes.
struct WgmmaArguments {
  float* d;           // [count]
  const unsigned* a;  // [4]
  std::uint64_t b;    // descriptor
  unsigned count;     // accumulators of a thread: n / 2
  bool bf16, accumulate;
};

class WgmmaQueue {
 public:
  using Lanes = std::array<WgmmaArguments, 32>;

  explicit WgmmaQueue(std::uint16_t actor) : actor_(actor) {}

  void fence();
  // observer(lane): each lane must know of B's writes.
  void issue(const Lanes& lanes, SharedMemory& shared, const std::array<const Observer*, 32>& observers, bool read_now);
  void commit();
  // Retires all but the latest `pending` groups; their readings of B become known to the lanes.
  void wait(unsigned pending, SharedMemory& shared, const std::array<Observer*, 32>& observers);

  bool idle() const { return open_.empty() && groups_.empty(); }
  // What was issued, in order: the warps of a group must agree.
  const std::vector<std::uint64_t>& history() const { return history_; }

 private:
  using Fragment = std::array<std::array<unsigned, 4>, 32>;
  struct Operation {
    Lanes lanes;
    Fragment a;            // when it was issued
    std::vector<float> b;  // [16][n], if read already
    std::uint64_t id;
  };
  struct Sums {
    std::vector<float> d;  // [16][n]
    std::uint64_t last;    // operation that uses them
    std::vector<float*> registers;
  };

  void check_fenced(const void* registers, unsigned words);
  std::vector<float> read_b(const Operation& operation, const SharedMemory& shared) const;
  void retire(const Operation& operation, const SharedMemory& shared);
  template <class Visit>
  static void visit_b(const WgmmaArguments& arguments, Visit visit);

  std::uint16_t actor_;
  std::uint64_t operations_ = 0;
  std::uint32_t group_ = 1;  // that is open: the actor's epoch
  bool fenced_ = false;      // since the last group retired
  std::vector<Operation> open_;
  std::deque<std::vector<Operation>> groups_;
  std::map<const float*, Sums> sums_;                      // in use, by lane 0's registers
  std::map<const void*, std::vector<unsigned>> at_fence_;  // registers that wgmmas have used: their content then
  std::vector<std::uint64_t> history_;
};

}  // namespace cubind::emulator
