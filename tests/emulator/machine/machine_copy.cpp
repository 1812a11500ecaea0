// Memory accesses of the running thread, and the copies that it starts.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/emulator/machine/machine_state.hpp"

namespace cubind::emulator {
namespace {

constexpr unsigned kChunk = 16;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

void put(SharedMemory& shared, const Copy& copy) {
  shared.put_copy(copy.address, copy.bytes == 0 ? nullptr : copy.from, kChunk);
}

// A chunk of fewer bytes than 16 is filled up with zeros.
unsigned shared_bytes(const BoxChunk& chunk) {
  return std::max(chunk.bytes, kChunk);
}

std::vector<BoxChunk> run_of(unsigned address, const void* global, unsigned bytes) {
  if (bytes == 0 || bytes % kChunk != 0) fail("bulk copy: " + std::to_string(bytes) + " bytes are no multiple of 16");
  if (reinterpret_cast<std::uintptr_t>(global) % kChunk != 0) fail("bulk copy: misaligned global address");
  return {{address, static_cast<char*>(const_cast<void*>(global)), bytes}};
}

}  // namespace

// --- plain accesses

void Machine::global_access(const void* address, std::size_t bytes, std::size_t alignment, Access access) {
  const Block& block = *running_->warp->block;
  const auto& observer = running_->observer;
  if (shape_.dependent) {
    const auto knows = [&](const Stamp& stamp) { return observer.knows(stamp); };
    const bool waited = std::any_of(block.grid_waits.begin(), block.grid_waits.end(), knows);
    if (!waited && access != Access::read && access != Access::read_constant) {
      fail("global memory written before griddepcontrol.wait");
    }
    if (!waited && global_.is_of_launch_before(address)) {
      fail("global memory that the launch before writes is read before griddepcontrol.wait");
    }
  }
  const Dim3 grid = shape_.grid;
  const unsigned number = (block.index.z * grid.y + block.index.y) * grid.x + block.index.x;
  global_.access(address, bytes, alignment, access, {block.cluster.number, number, observer.stamp()}, observer);
}

void Machine::grid_dependency_wait() {
  running_->warp->block->grid_waits.push_back(running_->observer.stamp());
}

void Machine::shared_read(void* to, unsigned address, unsigned bytes) {
  const Place place = visit(address);
  place.block.shared.read(to, place.address, bytes, running_->observer);
}

void Machine::shared_write(unsigned address, const void* from, unsigned bytes) {
  const Place place = visit(address);
  place.block.shared.write(place.address, from, bytes, running_->observer);
}

// --- cp.async

void Machine::copy_start(unsigned address, const void* from, unsigned bytes) {
  auto& shared = running_->warp->block->shared;
  if (bytes != 0) global_access(from, kChunk, Access::read_constant);
  shared.start_copy(address, kChunk, running_->observer, false);
  Copy copy{address, from, bytes, copies_at_once()};
  if (copy.put) put(shared, copy);
  running_->open.push_back(copy);
}

void Machine::copy_commit() {
  running_->groups.push_back(std::move(running_->open));
  running_->open.clear();
}

void Machine::copy_wait(unsigned pending) {
  auto& shared = running_->warp->block->shared;
  auto& groups = running_->groups;
  while (groups.size() > pending) {
    for (const auto& copy : groups.front()) {
      if (!copy.put) put(shared, copy);
      shared.finish_copy(copy.address, kChunk, running_->observer.stamp(), false);
    }
    groups.erase(groups.begin());
  }
}

// The mbarrier takes over the thread's copies.
void Machine::copy_arrive(unsigned barrier_address) {
  Block& block = *running_->warp->block;
  auto& barrier = usable_mbarrier({block, barrier_address, false}, false);
  std::vector<Copy> copies = std::move(running_->open);
  running_->open.clear();
  for (auto& group : running_->groups) {
    copies.insert(copies.end(), group.begin(), group.end());
    group.clear();
  }
  in_flight(block, [&block, &barrier, copies] {
    const Stamp stamp = barrier.copy_stamp();
    for (const auto& copy : copies) {
      if (!copy.put) put(block.shared, copy);
      block.shared.finish_copy(copy.address, kChunk, stamp, false);
    }
    block.visitors[stamp.actor] = stamp;
    barrier.arrive_by_copies();
  });
}

// --- bulk copies into shared memory

// To the block that the address is in, or to several.
void Machine::start_load(unsigned address, const std::vector<BoxChunk>& chunks, unsigned barrier_address,
                         unsigned blocks) {
  const auto& observer = running_->observer;
  unsigned bytes = 0;
  for (const auto& chunk : chunks) {
    if (chunk.bytes != 0) {
      const unsigned alignment = chunk.bytes % kChunk == 0 ? kChunk : 1;
      global_access(chunk.global, chunk.bytes, alignment, Access::read_constant);
    }
    bytes += shared_bytes(chunk);
  }
  const auto start = [&](const Place& to, const Place& at) {
    if (&to.block != &at.block) fail("bulk copy: its mbarrier is not in the block that it copies to");
    auto& barrier = usable_mbarrier(at, true);
    auto& shared = to.block.shared;
    std::vector<BoxChunk> moved = chunks;
    for (auto& chunk : moved) {
      chunk.shared = chunk.shared - address + to.address;
      shared.start_copy(chunk.shared, shared_bytes(chunk), observer, true);
    }
    barrier.start_copy(bytes);
    Block& block = to.block;
    in_flight(block, [&block, &barrier, moved, bytes] {
      const Stamp stamp = barrier.copy_stamp();
      for (const auto& chunk : moved) {
        if (chunk.bytes != 0) block.shared.put_copy(chunk.shared, chunk.global, chunk.bytes);
        if (chunk.bytes < kChunk) block.shared.put_copy(chunk.shared + chunk.bytes, nullptr, kChunk - chunk.bytes);
        block.shared.finish_copy(chunk.shared, shared_bytes(chunk), stamp, true);
      }
      block.visitors[stamp.actor] = stamp;
      barrier.land_copy(bytes);
    });
  };
  if (blocks == 0) return start(reach(address), reach(barrier_address));
  for (unsigned rank = 0; blocks >> rank != 0; ++rank) {
    if ((blocks >> rank & 1) != 0) start(reach(mapa(address, rank)), reach(mapa(barrier_address, rank)));
  }
}

void Machine::bulk_load(unsigned address, const void* from, unsigned bytes, unsigned barrier, unsigned blocks) {
  start_load(address, run_of(address, from, bytes), barrier, blocks);
}

void Machine::tensor_load(unsigned address, const void* map, unsigned rank, const int (&coordinates)[3],
                          unsigned barrier, unsigned blocks) {
  start_load(address, box_chunks(map, rank, coordinates, address), barrier, blocks);
}

void Machine::bulk_load_cluster(unsigned address, unsigned from, unsigned bytes, unsigned barrier_address) {
  const Place to = reach(address), at = reach(barrier_address);
  if (&to.block != &at.block) fail("bulk copy: its mbarrier is not in the block that it copies to");
  if (bytes == 0 || bytes % kChunk != 0) fail("bulk copy: " + std::to_string(bytes) + " bytes are no multiple of 16");
  auto& barrier = usable_mbarrier(at, true);
  Block &source = *running_->warp->block, &block = to.block;
  source.shared.start_async_read(from, bytes, running_->observer, barrier.copy_stamp());
  block.shared.start_copy(to.address, bytes, running_->observer, true);
  barrier.start_copy(bytes);
  in_flight(block, [&block, &source, &barrier, from, to = to.address, bytes] {
    if (source.done) fail("a block exits while a copy from its shared memory is on its way");
    const Stamp stamp = barrier.copy_stamp();
    block.shared.put_copy(to, source.shared.at(from, bytes), bytes);
    block.shared.finish_copy(to, bytes, stamp, true);
    block.visitors[stamp.actor] = stamp;
    barrier.land_copy(bytes);
  });
}

void Machine::shared_store_async(unsigned address, const void* from, unsigned bytes, unsigned barrier_address) {
  const Place to = reach(address), at = reach(barrier_address);
  if (&to.block != &at.block) fail("st.async: its mbarrier is not in the block that it stores to");
  auto& barrier = usable_mbarrier(at, true);
  to.block.shared.start_copy(to.address, bytes, running_->observer, false);
  barrier.start_copy(bytes);
  const auto* first = static_cast<const unsigned char*>(from);
  const std::vector<unsigned char> value(first, first + bytes);
  Block& block = to.block;
  in_flight(block, [&block, &barrier, value, to = to.address] {
    const auto size = static_cast<unsigned>(value.size());
    const Stamp stamp = barrier.copy_stamp();
    block.shared.put_copy(to, value.data(), size);
    block.shared.finish_copy(to, size, stamp, false);
    block.visitors[stamp.actor] = stamp;
    barrier.land_copy(size);
  });
}

// --- bulk copies out of shared memory

void Machine::start_store(const std::vector<BoxChunk>& chunks) {
  Thread& thread = *running_;
  Block& block = *thread.warp->block;
  if (thread.store_actor == 0) thread.store_actor = block.cluster.next_actor++;
  const Stamp as{thread.store_actor, thread.observer.block, thread.store_epoch, Stamp::kNoInterval};
  for (const auto& chunk : chunks) {
    block.shared.start_async_read(chunk.shared, shared_bytes(chunk), thread.observer, as);
    if (chunk.bytes == 0) continue;
    global_access(chunk.global, chunk.bytes, chunk.bytes % kChunk == 0 ? kChunk : 1, Access::write);
  }
  thread.stores.insert(thread.stores.end(), chunks.begin(), chunks.end());
}

void Machine::bulk_store(void* to, unsigned address, unsigned bytes) {
  start_store(run_of(address, to, bytes));
}

void Machine::tensor_store(const void* map, unsigned rank, const int (&coordinates)[3], unsigned address) {
  start_store(box_chunks(map, rank, coordinates, address));
}

void Machine::bulk_commit() {
  running_->store_groups.push_back(std::move(running_->stores));
  running_->stores.clear();
  ++running_->store_epoch;
}

void Machine::bulk_wait(unsigned pending) {
  Thread& thread = *running_;
  auto& groups = thread.store_groups;
  while (groups.size() > pending) {
    for (const auto& chunk : groups.front()) {
      if (chunk.bytes == 0) continue;
      std::memcpy(chunk.global, thread.warp->block->shared.at(chunk.shared, chunk.bytes), chunk.bytes);
    }
    groups.erase(groups.begin());
  }
  if (thread.store_actor == 0) return;
  const auto done = thread.store_epoch - 1 - static_cast<std::uint32_t>(groups.size());
  thread.observer.knowledge.known.raise(thread.store_actor, done);
}

}  // namespace cubind::emulator
