#include "tests/emulator/machine/machine.hpp"

#include <algorithm>
#include <stdexcept>

#include <boost/context/pooled_fixedsize_stack.hpp>

namespace cubind::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::size_t kResidentBlocks = 4;

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

enum class State : unsigned char { ready, instruction, barrier, done };

struct Copy {
  unsigned address;
  const void* from;
  unsigned bytes;
  bool put;
};

struct Machine::Thread {
  boost::context::fiber fiber;
  boost::context::fiber* scheduler = nullptr;
  Warp* warp = nullptr;
  unsigned index = 0;
  State state = State::ready;
  WarpInstruction instruction = nullptr;
  void* arguments = nullptr;
  std::exception_ptr error;
  std::vector<Copy> open;                 // since the last commit
  std::vector<std::vector<Copy>> groups;  // committed, oldest first; may be empty ones
  bool copies_in_flight() const {
    return !open.empty() || std::any_of(groups.begin(), groups.end(), [](const auto& group) { return !group.empty(); });
  }
};

struct Machine::Warp {
  Block* block = nullptr;
  unsigned first = 0;  // thread
  State state = State::ready;
};

struct Machine::Block {
  Block(Dim3 block_index, unsigned threads_, unsigned shared_bytes)
      : index(block_index), shared(shared_bytes), threads(threads_), warps(threads_ / kLanes) {}
  Dim3 index;
  SharedMemory shared;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  bool all_are(State state) const {
    return std::all_of(warps.begin(), warps.end(), [state](const Warp& warp) { return warp.state == state; });
  }
};

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
SharedMemory& Machine::shared() {
  return running_->warp->block->shared;
}

void Machine::global_access(const void* address, std::size_t bytes, Access access) {
  const Block& block = *running_->warp->block;
  const unsigned number = (block.index.z * grid_.y + block.index.y) * grid_.x + block.index.x;
  global_.access(address, bytes, access, {number, running_->index, block.shared.interval()});
}

void Machine::launch(const LaunchShape& shape, const std::function<void()>& body) {
  if (shape.threads == 0 || shape.threads % kLanes != 0) throw std::runtime_error("threads: not whole warps");
  grid_ = shape.grid;
  threads_ = shape.threads;
  shared_bytes_ = shape.shared_bytes;
  body_ = &body;
  laggard_ = nullptr;
  global_.begin_launch();

  // Blocks may come in any order; those along z next to each other, because it is they who meet in the workspace.
  std::vector<Dim3> waiting;
  for (unsigned y = 0; y < grid_.y; ++y) {
    for (unsigned x = 0; x < grid_.x; ++x) {
      for (unsigned z = 0; z < grid_.z; ++z) waiting.push_back({x, y, z});
    }
  }
  if (schedule_ == Schedule::random) std::shuffle(waiting.begin(), waiting.end(), random_);
  if (schedule_ != Schedule::backward) std::reverse(waiting.begin(), waiting.end());  // taken from the back

  struct Clear {  // also when an error leaves threads suspended: their stacks are unwound
    std::vector<std::unique_ptr<Block>>& blocks;
    ~Clear() { blocks.clear(); }
  } clear{blocks_};
  for (;;) {
    while (!waiting.empty() && blocks_.size() < kResidentBlocks) {
      start_block(waiting.back());
      waiting.pop_back();
    }
    if (blocks_.empty()) return;
    Warp* warp = pick_warp();
    if (warp == nullptr) throw std::runtime_error("deadlock: some threads wait at a barrier, others have exited");
    run_warp(*warp);
    Block* block = warp->block;
    if (warp->state == State::barrier && block->all_are(State::barrier)) {
      block->shared.next_interval();
      for (auto& thread : block->threads) thread.state = State::ready;
      for (auto& w : block->warps) w.state = State::ready;
    } else if (block->all_are(State::done)) {
      if (laggard_ != nullptr && laggard_->block == block) laggard_ = nullptr;
      std::erase_if(blocks_, [block](const auto& b) { return b.get() == block; });
    }
  }
}

void Machine::start_block(Dim3 index) {
  auto block = std::make_unique<Block>(index, threads_, shared_bytes_);
  for (unsigned w = 0; w < block->warps.size(); ++w) {
    block->warps[w].block = block.get();
    block->warps[w].first = w * kLanes;
  }
  for (unsigned i = 0; i < threads_; ++i) {
    Thread& thread = block->threads[i];
    thread.index = i;
    thread.warp = &block->warps[i / kLanes];
    thread.fiber = boost::context::fiber(std::allocator_arg, stacks(), [this, &thread](boost::context::fiber&& back) {
      thread.scheduler = &back;
      try {
        (*body_)();
        if (thread.copies_in_flight()) throw std::runtime_error("copies in flight at exit");
      } catch (const std::exception&) {
        thread.error = std::current_exception();
      }
      thread.state = State::done;
      return std::move(back);
    });
  }
  if (schedule_ == Schedule::laggard && laggard_ == nullptr) laggard_ = &block->warps.back();
  blocks_.push_back(std::move(block));
}

// Null if no warp can go on.
Machine::Warp* Machine::pick_warp() {
  std::vector<Warp*> ready;
  for (const auto& block : blocks_) {
    for (auto& warp : block->warps) {
      if (warp.state == State::ready && &warp != laggard_) ready.push_back(&warp);
    }
  }
  if (ready.empty()) return laggard_ != nullptr && laggard_->state == State::ready ? laggard_ : nullptr;
  switch (schedule_) {
    case Schedule::forward: return ready.front();
    case Schedule::backward: return ready.back();
    case Schedule::random: return ready[random_() % ready.size()];
    case Schedule::round_robin:
    case Schedule::laggard: return ready[turn_++ % ready.size()];
  }
  return nullptr;
}

// Every lane up to its next instruction of the warp, the block's barrier or its end. All lanes must meet the same one.
void Machine::run_warp(Warp& warp) {
  Thread* const lanes = &warp.block->threads[warp.first];
  for (unsigned i = 0; i < kLanes; ++i) {
    Thread& thread = lanes[schedule_ == Schedule::backward ? kLanes - 1 - i : i];
    running_ = &thread;
    thread.fiber = std::move(thread.fiber).resume();
    if (thread.error) std::rethrow_exception(thread.error);
  }
  void* arguments[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) {
    if (lanes[i].state != lanes[0].state || lanes[i].instruction != lanes[0].instruction) {
      throw std::runtime_error("divergent warp: lanes 0 and " + std::to_string(i) + " wait for different things");
    }
    arguments[i] = lanes[i].arguments;
  }
  warp.state = lanes[0].state;
  if (warp.state != State::instruction) return;
  lanes[0].instruction(warp.block->shared, warp.first, arguments);
  warp.state = State::ready;
  for (unsigned i = 0; i < kLanes; ++i) {
    lanes[i].state = State::ready;
    lanes[i].instruction = nullptr;
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

void Machine::block_barrier() {
  running_->state = State::barrier;
  suspend();
}

bool Machine::copies_at_once() {
  return schedule_ == Schedule::backward || (schedule_ == Schedule::random && random_() % 2 == 0);
}

namespace {

void put(SharedMemory& shared, const Copy& copy) {
  static constexpr unsigned char kZeros[16] = {};
  shared.put_copy(copy.address, copy.bytes == 0 ? kZeros : copy.from);
}

}  // namespace

void Machine::copy_start(unsigned address, const void* from, unsigned bytes) {
  if (bytes != 0) global_access(from, 16, Access::read_constant);
  shared().start_copy(address, running_->index);
  Copy copy{address, from, bytes, copies_at_once()};
  if (copy.put) put(shared(), copy);
  running_->open.push_back(copy);
}

void Machine::copy_commit() {
  running_->groups.push_back(std::move(running_->open));
  running_->open.clear();
}

void Machine::copy_wait(unsigned pending) {
  auto& groups = running_->groups;
  while (groups.size() > pending) {
    for (const auto& copy : groups.front()) {
      if (!copy.put) put(shared(), copy);
      shared().finish_copy(copy.address, running_->index);
    }
    groups.erase(groups.begin());
  }
}

}  // namespace cubind::emulator
