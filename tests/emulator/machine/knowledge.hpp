// Who knows of what: the order that barriers put accesses in, whatever the schedule happened to do. Everything that
// acts in a cluster is an actor with a number: its threads, and what works for them beside them (an mbarrier's copies,
// a warp's wgmmas, a thread's bulk stores). An actor's events carry its epoch; a release hands all that a thread knows
// to a barrier, an acquire takes it from there.
//
// A barrier of the whole block is cheaper: events also carry the block's interval, and every thread of the block knows
// of all earlier intervals. A block stands as an actor for that: epoch i of it means "its intervals up to i".
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cubind::emulator {

using ActorId = std::uint32_t;
inline constexpr ActorId kMaxBlocks = 16;  // of a cluster; actors 0 to 15 are the blocks

struct Stamp {
  static constexpr std::uint32_t kNoInterval = ~0u;  // events of what no block barrier orders
  std::uint16_t actor = 0;
  std::uint8_t block = 0;
  std::uint32_t epoch = 0;  // from 1; 0: no event
  std::uint32_t interval = kNoInterval;
};

class Clock {
 public:
  bool empty() const { return epochs_.empty(); }
  std::uint32_t of(ActorId actor) const { return actor < epochs_.size() ? epochs_[actor] : 0; }
  void raise(ActorId actor, std::uint32_t epoch) {
    if (actor >= epochs_.size()) epochs_.resize(actor + 1);
    epochs_[actor] = std::max(epochs_[actor], epoch);
  }
  void join(const Clock& other) {
    const std::size_t size = other.epochs_.size();
    if (size > epochs_.size()) epochs_.resize(size);
    std::uint32_t* to = epochs_.data();
    const std::uint32_t* from = other.epochs_.data();
    for (std::size_t i = 0; i < size; ++i) to[i] = std::max(to[i], from[i]);
  }

 private:
  std::vector<std::uint32_t> epochs_;
};

struct Knowledge {
  Clock known;
  Clock fenced;  // the part of it that a proxy fence has made visible to the async proxy

  bool empty() const { return known.empty() && fenced.empty(); }
  void join(const Knowledge& other) {
    known.join(other.known);
    fenced.join(other.fenced);
  }
};

// A thread as it accesses memory.
struct Observer {
  std::uint16_t actor = 0;
  std::uint8_t block = 0;    // its rank in the cluster
  std::uint32_t number = 0;  // of the thread in its block, for messages
  std::uint32_t epoch = 1;
  std::uint32_t interval = 1;  // its block's
  Knowledge knowledge;

  Stamp stamp() const { return {actor, block, epoch, interval}; }
  bool knows(const Stamp& stamp) const {
    if (stamp.actor == actor) return true;
    if (stamp.interval != Stamp::kNoInterval) {
      if (stamp.block == block && stamp.interval < interval) return true;
      if (knowledge.known.of(stamp.block) >= stamp.interval) return true;
    }
    return knowledge.known.of(stamp.actor) >= stamp.epoch;
  }
  // Whether a proxy fence lies between the event and here.
  bool knows_fenced(const Stamp& stamp) const {
    if (stamp.interval != Stamp::kNoInterval && knowledge.fenced.of(stamp.block) >= stamp.interval) return true;
    return knowledge.fenced.of(stamp.actor) >= stamp.epoch;
  }

  // Everything so far is handed on; what follows is not.
  void release_into(Knowledge& to) {
    to.join(knowledge);
    to.known.raise(actor, epoch++);
    to.known.raise(block, interval - 1);
  }
  void acquire(const Knowledge& from) { knowledge.join(from); }
  void fence_proxy() {
    knowledge.fenced.join(knowledge.known);
    knowledge.fenced.raise(actor, epoch++);
    knowledge.fenced.raise(block, interval - 1);
  }
};

}  // namespace cubind::emulator
