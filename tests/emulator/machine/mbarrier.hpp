// An mbarrier as a state machine: arrivals, bytes and phases. Errors are exceptions that say what the protocol forbids.
#pragma once

#include <cstdint>
#include <string>

#include "tests/emulator/machine/knowledge.hpp"

namespace cubind::emulator {

class Mbarrier {
 public:
  // actor: stands for the copies that it counts.
  Mbarrier(unsigned address, unsigned count, const Stamp& init, std::uint16_t actor);

  // By a thread of its own block or of another one.
  void arrive(Observer& by);
  void expect_tx(std::int64_t bytes);

  // A copy of so many bytes: announced when it starts, counted when it lands. What lands belongs to the phase in which
  // the copy started.
  void start_copy(std::int64_t bytes) { in_flight_ += bytes; }
  void land_copy(std::int64_t bytes);
  // An arrival that a thread's copies make for it when they are done.
  void arrive_by_copies();
  // What the copies of the current phase write: known to who waits for it.
  Stamp copy_stamp() const { return {actor_, 0, static_cast<std::uint32_t>(phase_ + 1), Stamp::kNoInterval}; }

  // Whether a wait for this parity passes; an error if the phase that the thread must mean cannot be told any more.
  bool passes(unsigned parity, const Observer& waiter) const;
  void acquire(Observer& waiter) const { waiter.acquire(completed_); }

  // By other threads, and by the async proxy and other blocks, which need a fence after init.
  void check_usable(const Observer& by, bool needs_fence) const;
  void fence_init(const Observer& by) { fenced_ = fenced_ || by.actor == init_.actor; }

  void end(const Observer& by);
  bool alive() const { return alive_; }

  std::uint64_t phase() const { return phase_; }  // that is not complete yet
  // "" or why its current phase will never complete, if nothing more comes.
  std::string stuck() const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void advance_if_complete();

  unsigned address_, count_, pending_;
  std::int64_t tx_ = 0, in_flight_ = 0;
  std::uint64_t phase_ = 0;
  Stamp init_;
  std::uint16_t actor_;
  bool fenced_ = false, alive_ = true;
  Knowledge gathered_, completed_;  // of the current phase and all before; of the completed ones
};

}  // namespace cubind::emulator
