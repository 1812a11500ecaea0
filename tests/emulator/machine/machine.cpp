// Scheduling: which warp goes on, and what happens when none can.
#include "tests/emulator/machine/machine.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

#include <boost/context/pooled_fixedsize_stack.hpp>

#include "tests/emulator/machine/machine_state.hpp"

namespace cubind::emulator {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr unsigned kRegistersOfBlock = 65536, kMaxRegisters = 255;

boost::context::pooled_fixedsize_stack& stacks() {
  static boost::context::pooled_fixedsize_stack pool(kStackBytes);
  return pool;
}

}  // namespace

const char* name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::round_robin: return "round_robin";
    case Schedule::forward: return "forward";
    case Schedule::backward: return "backward";
    case Schedule::laggard: return "laggard";
    case Schedule::random: return "random";
  }
  return "";
}

Machine* Machine::current_ = nullptr;

Machine::Machine(GlobalMemory& global, Schedule schedule, std::uint64_t seed)
    : global_(global), schedule_(schedule), random_(seed) {
  current_ = this;
}

Machine::~Machine() {
  current_ = nullptr;
}

unsigned Machine::thread_index() const {
  return running_->index;
}
Dim3 Machine::block_index() const {
  return running_->warp->block->index;
}
unsigned Machine::cluster_rank() const {
  return running_->warp->block->rank;
}

void Machine::launch(const LaunchShape& shape, const std::function<void()>& body) {
  const auto& [grid, cluster] = std::tie(shape.grid, shape.cluster);
  if (shape.threads == 0 || shape.threads % kLanes != 0) throw std::runtime_error("threads: not whole warps");
  if (cluster.count() == 0 || cluster.count() > kMaxBlocks || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 ||
      grid.z % cluster.z != 0) {
    throw std::runtime_error("grid: not whole clusters");
  }
  shape_ = shape;
  body_ = &body;
  laggard_ = nullptr;
  clusters_started_ = 0;
  elected_lane_ = schedule_ == Schedule::backward ? kLanes - 1
                  : schedule_ == Schedule::random ? static_cast<unsigned>(random_() % kLanes)
                                                  : 0;
  global_.begin_launch();

  // Clusters may come in any order; those along z next to each other, because it is they who meet in the workspace.
  std::vector<Dim3> waiting;
  for (unsigned y = 0; y < grid.y; y += cluster.y) {
    for (unsigned x = 0; x < grid.x; x += cluster.x) {
      for (unsigned z = 0; z < grid.z; z += cluster.z) waiting.push_back({x, y, z});
    }
  }
  if (schedule_ == Schedule::random) std::shuffle(waiting.begin(), waiting.end(), random_);
  if (schedule_ != Schedule::backward) std::reverse(waiting.begin(), waiting.end());  // taken from the back

  struct Clear {  // also when an error leaves threads suspended: their stacks are unwound
    Machine& machine;
    ~Clear() {
      machine.in_flight_.clear();
      machine.clusters_.clear();
    }
  } clear{*this};
  const std::size_t resident = std::max(1u, shape.resident_blocks / cluster.count());
  for (;;) {
    while (!waiting.empty() && clusters_.size() < resident) {
      start_cluster(waiting.back());
      waiting.pop_back();
    }
    if (clusters_.empty()) return;
    if (schedule_ == Schedule::random && !in_flight_.empty() && random_() % 16 == 0) land_one();
    Warp* warp = pick_warp();
    if (warp == nullptr) {
      if (in_flight_.empty()) fail_deadlock();
      land_one();
      continue;
    }
    run_warp(*warp);
    if (!warp->done) continue;
    Block& block = *warp->block;
    const auto is_done = [](const Warp& w) { return w.done; };
    if (!std::all_of(block.warps.begin(), block.warps.end(), is_done)) continue;
    finish_block(block);
    if (block.cluster.done()) {
      if (laggard_ != nullptr && &laggard_->block->cluster == &block.cluster) laggard_ = nullptr;
      std::erase_if(clusters_, [&](const auto& c) { return c.get() == &block.cluster; });
    }
  }
}

void Machine::start_cluster(Dim3 first) {
  auto cluster = std::make_unique<Cluster>();
  cluster->number = clusters_started_++;
  const Dim3 size = shape_.cluster;
  cluster->next_actor = static_cast<std::uint16_t>(kMaxBlocks + size.count() * shape_.threads);
  const unsigned registers = std::min(kRegistersOfBlock / shape_.threads, kMaxRegisters) / 8 * 8;
  for (unsigned rank = 0; rank < size.count(); ++rank) {
    const Dim3 index{first.x + rank % size.x, first.y + rank / size.x % size.y, first.z + rank / (size.x * size.y)};
    cluster->blocks.push_back(std::make_unique<Block>(*cluster, index, rank, shape_));
    Block& block = *cluster->blocks.back();
    for (unsigned w = 0; w < block.warps.size(); ++w) {
      block.warps[w].block = &block;
      block.warps[w].first = w * kLanes;
      block.warps[w].registers = registers;
    }
    for (unsigned i = 0; i < shape_.threads; ++i) {
      Thread& thread = block.threads[i];
      thread.index = i;
      thread.warp = &block.warps[i / kLanes];
      thread.observer.actor = static_cast<std::uint16_t>(kMaxBlocks + rank * shape_.threads + i);
      thread.observer.block = static_cast<std::uint8_t>(rank);
      thread.observer.number = i;
      thread.fiber = boost::context::fiber(std::allocator_arg, stacks(), [this, &thread](boost::context::fiber&& back) {
        thread.scheduler = &back;
        try {
          (*body_)();
          check_exit(thread);
        } catch (const std::exception&) {
          thread.error = std::current_exception();
        }
        thread.state = State::done;
        return std::move(back);
      });
    }
    if (schedule_ == Schedule::laggard && laggard_ == nullptr) laggard_ = &block.warps.back();
  }
  clusters_.push_back(std::move(cluster));
}

// Null if no warp can go on.
Warp* Machine::pick_warp() {
  std::vector<Warp*> ready;
  for (const auto& cluster : clusters_) {
    for (const auto& block : cluster->blocks) {
      for (auto& warp : block->warps) {
        if (!warp.done && &warp != laggard_ && warp.can_go_on()) ready.push_back(&warp);
      }
    }
  }
  if (ready.empty()) {  // copies that may still land come before the laggard
    const bool can = laggard_ != nullptr && !laggard_->done && in_flight_.empty() && laggard_->can_go_on();
    return can ? laggard_ : nullptr;
  }
  switch (schedule_) {
    case Schedule::forward: return ready.front();
    case Schedule::backward: return ready.back();
    case Schedule::random: return ready[random_() % ready.size()];
    case Schedule::round_robin:
    case Schedule::laggard: return ready[turn_++ % ready.size()];
  }
  return nullptr;
}

// Every lane that can go on, up to its next instruction of the warp, its next wait or its end. If all lanes have come
// to the same instruction then, it is executed.
void Machine::run_warp(Warp& warp) {
  Thread* const lanes = &warp.block->threads[warp.first];
  for (unsigned i = 0; i < kLanes; ++i) {
    Thread& thread = lanes[schedule_ == Schedule::backward ? kLanes - 1 - i : i];
    if (thread.state == State::waiting && thread.wait.over()) thread.state = State::ready;
    if (thread.state != State::ready) continue;
    running_ = &thread;
    thread.fiber = std::move(thread.fiber).resume();
    if (thread.error) std::rethrow_exception(thread.error);
  }
  unsigned stuck = 0, ready = 0, done = 0, same = 0;
  void* arguments[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) {
    stuck += lanes[i].state == State::instruction || lanes[i].state == State::done ? 1 : 0;
    ready += lanes[i].state == State::ready ? 1 : 0;  // polls
    done += lanes[i].state == State::done ? 1 : 0;
    same += lanes[i].state == lanes[0].state && lanes[i].instruction == lanes[0].instruction ? 1 : 0;
    arguments[i] = lanes[i].arguments;
  }
  warp.done = done == kLanes;
  if (warp.done) complete_cluster_barrier(warp.block->cluster);
  warp.ready = ready != 0;
  if (stuck == kLanes && same != kLanes)
    throw std::runtime_error("divergent warp: its lanes wait for different things");
  if (lanes[0].state == State::instruction && same == kLanes) {
    const auto instruction = lanes[0].instruction;
    for (unsigned i = 0; i < kLanes; ++i) {
      lanes[i].state = State::ready;
      lanes[i].instruction = nullptr;
    }
    WarpLanes all(*this, warp);
    instruction(all, arguments);
    warp.ready = lanes[0].state == State::ready;
  }
  warp.waits.clear();
  for (unsigned i = 0; i < kLanes; ++i) {
    if (lanes[i].state != State::waiting) continue;
    if (warp.waits.empty() || !(warp.waits.back() == lanes[i].wait)) warp.waits.push_back(lanes[i].wait);
  }
}

void Machine::suspend() {
  Thread& thread = *running_;
  *thread.scheduler = std::move(*thread.scheduler).resume();
}

void Machine::warp_instruction(WarpInstruction instruction, void* arguments) {
  running_->state = State::instruction;
  running_->instruction = instruction;
  running_->arguments = arguments;
  suspend();
}

void Machine::check_exit(const Thread& thread) const {
  const auto is_empty = [](const auto& group) { return group.empty(); };
  if (!thread.open.empty() || !std::all_of(thread.groups.begin(), thread.groups.end(), is_empty)) {
    throw std::runtime_error("copies in flight at exit");
  }
  if (!thread.stores.empty() || !std::all_of(thread.store_groups.begin(), thread.store_groups.end(), is_empty)) {
    throw std::runtime_error("bulk stores may still read shared memory at exit");
  }
  if (thread.warp->wgmma != nullptr && !thread.warp->wgmma->idle()) throw std::runtime_error("wgmmas running at exit");
  if (thread.cluster_arrived) throw std::runtime_error("arrived at the cluster's barrier, but did not wait");
}

// All its threads have ended. Its shared memory must not be needed any more.
void Machine::finish_block(Block& block) {
  block.done = true;
  complete_cluster_barrier(block.cluster);
  const std::string name = "block " + std::to_string(block.rank) + " of a cluster exits ";
  for (const auto& copy : in_flight_) {
    if (copy.into == &block) throw std::runtime_error(name + "while a copy into its shared memory is on its way");
  }
  for (const auto& [actor, stamp] : block.visitors) {
    const auto& s = stamp;
    const auto knows = [&s](const Thread& thread) { return thread.observer.knows(s); };
    if (!std::any_of(block.threads.begin(), block.threads.end(), knows)) {
      throw std::runtime_error(
          name + "though nothing puts an access to its shared memory, a copy's or another block's, before that");
    }
  }
  for (std::size_t w = 0; w < block.warps.size(); ++w) {
    const Warp &own = block.warps[w], &first = block.warps[w / kWarpGroupWarps * kWarpGroupWarps];
    const auto issued = [](const Warp& warp) {
      return warp.wgmma != nullptr ? warp.wgmma->history() : std::vector<std::uint64_t>();
    };
    if (issued(own) != issued(first)) throw std::runtime_error("wgmma: the warps of a group execute different ones");
    if (own.register_changes != first.register_changes) {
      throw std::runtime_error("setmaxnreg: the warps of a group execute different ones");
    }
  }
}

bool Machine::copies_at_once() {
  return schedule_ == Schedule::backward || (schedule_ == Schedule::random && random_() % 2 == 0);
}

void Machine::in_flight(Block& into, std::function<void()> land) {
  if (copies_at_once()) return land();
  in_flight_.push_back({&into, std::move(land)});
}

void Machine::land_one() {
  const std::size_t which = schedule_ == Schedule::random    ? random_() % in_flight_.size()
                            : schedule_ == Schedule::laggard ? in_flight_.size() - 1
                                                             : 0;
  const auto land = std::move(in_flight_[which].land);
  in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(which));
  land();
}

void Machine::fail_deadlock() const {
  std::string what = "deadlock: some threads wait at a barrier, others have exited";
  for (const auto& cluster : clusters_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& [address, barrier] : block->shared.mbarriers()) {
        if (const auto stuck = barrier.stuck(); barrier.alive() && !stuck.empty()) what += "; " + stuck;
      }
    }
  }
  throw std::runtime_error(what);
}

}  // namespace cubind::emulator
