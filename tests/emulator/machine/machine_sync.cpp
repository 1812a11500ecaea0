// Barriers of every kind, fences and registers.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/emulator/machine/machine_state.hpp"

namespace cubind::emulator {
namespace {

constexpr unsigned kRankShift = 24;  // of a cluster address: its block's rank + 1 above, the block's own address below
constexpr std::uint64_t kMaxPolls = 1'000'000;

struct NamedBarrierArguments {
  unsigned id, threads;
  bool wait;
};
struct RegisterArguments {
  unsigned registers;
  bool more, again;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

}  // namespace

// --- the block's and named barriers

void Machine::arrive_at_block_barrier(WarpLanes& lanes, void* const (&)[32]) {
  Block& block = lanes.block();
  lanes.wait_for({&block.barrier.generation, nullptr, block.barrier.generation + 1});
  if (++block.barrier.arrived < block.warps.size()) return;
  block.barrier.arrived = 0;
  ++block.barrier.generation;
  block.shared.next_interval();
  Knowledge all;
  for (const auto& thread : block.threads) {
    if (!thread.observer.knowledge.empty()) all.join(thread.observer.knowledge);
  }
  for (auto& thread : block.threads) {
    thread.observer.interval = block.shared.interval();
    if (!all.empty()) thread.observer.knowledge = all;
  }
}

void Machine::block_barrier() {
  warp_instruction(arrive_at_block_barrier, nullptr);
}

void Machine::arrive_at_named_barrier(WarpLanes& lanes, void* const (&arguments)[32]) {
  const auto& asked = *static_cast<const NamedBarrierArguments*>(arguments[0]);
  const auto name = "bar " + std::to_string(asked.id) + ": ";
  for (const void* argument : arguments) {
    const auto& other = *static_cast<const NamedBarrierArguments*>(argument);
    if (other.id != asked.id || other.threads != asked.threads || other.wait != asked.wait) {
      fail("divergent warp: its lanes name different barriers");
    }
  }
  if (asked.id == 0 || asked.id > 15) fail(name + "named barriers are 1 to 15");
  Block& block = lanes.block();
  if (asked.threads == 0 || asked.threads % kLanes != 0 || asked.threads > block.threads.size()) {
    fail(name + std::to_string(asked.threads) + " threads are not whole warps of the block");
  }
  auto& barrier = block.named[asked.id];
  if (barrier.arrived != 0 && barrier.threads != asked.threads) {
    fail(name + "used for " + std::to_string(barrier.threads) + " and " + std::to_string(asked.threads) + " threads");
  }
  block.shared.track_readers();
  barrier.threads = asked.threads;
  barrier.arrived += kLanes;
  for (unsigned i = 0; i < kLanes; ++i) {
    auto& thread = lanes.thread(i);
    const auto is_it = [&](const Thread* t) { return t == &thread; };
    if (std::any_of(barrier.waiting.begin(), barrier.waiting.end(), is_it)) fail(name + "a warp arrives twice");
    thread.observer.release_into(barrier.gathered);
    if (asked.wait) barrier.waiting.push_back(&thread);
  }
  if (asked.wait) lanes.wait_for({&barrier.generation, nullptr, barrier.generation + 1});
  if (barrier.arrived < barrier.threads) return;
  for (Thread* thread : barrier.waiting) thread->observer.acquire(barrier.gathered);
  barrier.waiting.clear();
  barrier.gathered = {};
  barrier.arrived = 0;
  ++barrier.generation;
}

void Machine::named_barrier(unsigned id, unsigned threads, bool wait) {
  NamedBarrierArguments arguments{id, threads, wait};
  warp_instruction(arrive_at_named_barrier, &arguments);
}

void Machine::warp_barrier() {
  warp_instruction(
      [](WarpLanes& lanes, void* const(&)[32]) {
        lanes.shared().track_readers();
        Knowledge all;
        for (unsigned i = 0; i < kLanes; ++i) lanes.observer(i).release_into(all);
        for (unsigned i = 0; i < kLanes; ++i) lanes.observer(i).acquire(all);
      },
      nullptr);
}

// --- clusters

void Machine::arrive_at_cluster_barrier(WarpLanes& lanes, void* const (&arguments)[32]) {
  Cluster& cluster = lanes.block().cluster;
  lanes.shared().track_readers();
  for (unsigned i = 0; i < kLanes; ++i) {
    Thread& thread = lanes.thread(i);
    if (thread.cluster_arrived) fail("arrived twice at the cluster's barrier without waiting");
    thread.cluster_arrived = true;
    thread.cluster_generation = cluster.generation + 1;
    if (*static_cast<const bool*>(arguments[i])) thread.observer.release_into(cluster.gathered);
  }
  cluster.arrived += kLanes;
  complete_cluster_barrier(cluster);
}

// Threads that have ended do not count, whether they had arrived or not.
void Machine::complete_cluster_barrier(Cluster& cluster) {
  if (cluster.arrived == 0) return;
  for (const auto& block : cluster.blocks) {
    for (const Thread& thread : block->threads) {
      const bool arrived = thread.cluster_arrived && thread.cluster_generation == cluster.generation + 1;
      if (!arrived && thread.state != State::done) return;
    }
  }
  cluster.arrived = 0;
  cluster.completed = cluster.gathered;
  ++cluster.generation;
}

void Machine::cluster_arrive(bool release) {
  warp_instruction(arrive_at_cluster_barrier, &release);
}

void Machine::cluster_wait() {
  warp_instruction(
      [](WarpLanes& lanes, void* const(&)[32]) {
        for (unsigned i = 0; i < kLanes; ++i) {
          if (!lanes.thread(i).cluster_arrived) fail("waits at the cluster's barrier without having arrived");
        }
        lanes.wait_for({&lanes.block().cluster.generation, nullptr, lanes.thread(0).cluster_generation});
      },
      nullptr);
  running_->cluster_arrived = false;
  running_->observer.acquire(running_->warp->block->cluster.completed);
}

unsigned Machine::mapa(unsigned address, unsigned rank) const {
  if (rank >= shape_.cluster.count()) fail("mapa: rank " + std::to_string(rank) + " is not in the cluster");
  return (address & ((1u << kRankShift) - 1)) | (rank + 1) << kRankShift;
}

Machine::Place Machine::place_of(unsigned address) const {
  Block& own = *running_->warp->block;
  if (address >> kRankShift == 0) return {own, address, false};
  const unsigned rank = (address >> kRankShift) - 1;
  if (rank >= own.cluster.blocks.size()) fail("an address of no block of the cluster");
  return {*own.cluster.blocks[rank], address & ((1u << kRankShift) - 1), rank != own.rank};
}

// Of a block that runs.
Machine::Place Machine::reach(unsigned address) const {
  const Place place = place_of(address);
  if (!place.remote) return place;
  const auto& observer = running_->observer;
  const auto name = "block " + std::to_string(place.block.rank) + " of the cluster ";
  if (place.block.done) fail(name + "has exited, but its shared memory is accessed");
  if (observer.knowledge.known.of(place.block.threads[0].observer.actor) == 0) {
    fail(name + "may not have started: its shared memory is accessed before a barrier of the cluster");
  }
  return place;
}

// The block must not exit before it knows of the access.
Machine::Place Machine::visit(unsigned address) {
  const Place place = reach(address);
  const auto& observer = running_->observer;
  if (place.remote) place.block.visitors[observer.actor] = observer.stamp();
  return place;
}

// --- registers

void Machine::change_registers(WarpLanes& lanes, void* const (&arguments)[32]) {
  auto& asked = *static_cast<RegisterArguments*>(arguments[0]);
  Warp& warp = lanes.warp;
  Block& block = lanes.block();
  const auto name = "setmaxnreg " + std::to_string(asked.registers) + ": ";
  if (asked.more ? asked.registers < warp.registers : asked.registers > warp.registers) {
    fail(name + "the warp has " + std::to_string(warp.registers));
  }
  const std::uint64_t change =
      kLanes * (asked.more ? asked.registers - warp.registers : warp.registers - asked.registers);
  bool again = false;
  if (asked.more && change > block.free_registers) {
    again = true;
    lanes.wait_for({&block.free_registers, nullptr, change});
  } else {
    block.free_registers = asked.more ? block.free_registers - change : block.free_registers + change;
    warp.registers = asked.registers;
    warp.register_changes.push_back(asked.registers);
  }
  for (void* argument : arguments) static_cast<RegisterArguments*>(argument)->again = again;
}

void Machine::set_registers(unsigned registers, bool more) {
  RegisterArguments arguments{registers, more, false};
  do {
    warp_instruction(change_registers, &arguments);
  } while (arguments.again);
}

// --- fences

void Machine::fence_proxy_async() {
  running_->observer.fence_proxy();
  fence_mbarrier_init();
}

void Machine::fence_mbarrier_init() {
  for (auto& [address, barrier] : running_->warp->block->shared.mbarriers()) barrier.fence_init(running_->observer);
}

// --- mbarriers

Mbarrier& Machine::usable_mbarrier(const Place& place, bool by_async_proxy) {
  auto& barrier = place.block.shared.mbarrier(place.address);
  barrier.check_usable(running_->observer, by_async_proxy || place.remote);
  return barrier;
}

void Machine::mbarrier_init(unsigned address, unsigned count) {
  Block& block = *running_->warp->block;
  block.shared.track_readers();
  block.shared.make_mbarrier(address, count, running_->observer, block.cluster.next_actor++);
}

void Machine::mbarrier_end(unsigned address) {
  running_->warp->block->shared.end_mbarrier(address, running_->observer);
}

void Machine::mbarrier_arrive(unsigned address, unsigned expected_bytes) {
  auto& barrier = usable_mbarrier(visit(address), false);
  barrier.expect_tx(expected_bytes);
  barrier.arrive(running_->observer);
}

void Machine::mbarrier_expect(unsigned address, unsigned bytes) {
  usable_mbarrier(visit(address), false).expect_tx(bytes);
}

bool Machine::mbarrier_test(unsigned address, unsigned parity) {
  auto& barrier = usable_mbarrier(visit(address), false);
  if (barrier.passes(parity, running_->observer)) {
    polls_ = 0;
    barrier.acquire(running_->observer);
    return true;
  }
  if (++polls_ > kMaxPolls) fail_deadlock();
  if (polls_ % 64 == 0 && !in_flight_.empty()) land_one();
  suspend();  // ready: others first
  return false;
}

void Machine::mbarrier_wait(unsigned address, unsigned parity) {
  const Place place = visit(address);
  if (place.remote) fail("an mbarrier of another block cannot be waited for");
  auto& barrier = usable_mbarrier(place, false);
  while (!barrier.passes(parity, running_->observer)) {
    running_->state = State::waiting;
    running_->wait = {nullptr, &barrier, parity};
    suspend();
  }
  barrier.acquire(running_->observer);
}

}  // namespace cubind::emulator
