#include "tests/emulator/machine/global_memory.hpp"

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

#include <sys/mman.h>

namespace cubind::emulator {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 256;  // cuMemAlloc's

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

GlobalMemory::~GlobalMemory() {
  for (const auto& buffer : buffers_) munmap(buffer.mapping, buffer.mapped);
}

void* GlobalMemory::allocate(std::string name, std::size_t bytes, bool writable) {
  if (bytes == 0) return nullptr;
  const std::size_t inside = round_up(round_up(bytes, kAlignment), kPage), mapped = inside + 2 * kPage;
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  char* first = static_cast<char*>(mapping) + kPage;
  mprotect(mapping, kPage, PROT_NONE);
  mprotect(first + inside, kPage, PROT_NONE);
  char* begin = first + inside - round_up(bytes, kAlignment);
  std::memset(begin, 0xff, bytes);
  buffers_.push_back({std::move(name), begin, begin + bytes, writable, false, mapping, mapped,
                      std::vector<Write>(writable ? (bytes + kCell - 1) / kCell : 0)});
  return begin;
}

void GlobalMemory::begin_launch() {
  atomics_.clear();
  for (auto& buffer : buffers_) buffer.cells.assign(buffer.cells.size(), {});
}

GlobalMemory::Buffer& GlobalMemory::buffer_of(const char* begin, std::size_t bytes) {
  const Buffer* below = nullptr;
  for (auto& buffer : buffers_) {
    if (begin < buffer.begin) continue;
    if (begin + bytes <= buffer.end) return buffer;
    if (below == nullptr || buffer.begin > below->begin) below = &buffer;
  }
  if (below == nullptr) throw std::runtime_error("global access before all buffers");
  throw std::runtime_error(below->name + ": access at byte " + std::to_string(begin - below->begin) + " of " +
                           std::to_string(below->end - below->begin));
}

void GlobalMemory::mark_of_launch_before(const void* buffer) {
  buffer_of(static_cast<const char*>(buffer), 1).of_launch_before = true;
}

bool GlobalMemory::is_of_launch_before(const void* address) const {
  for (const auto& buffer : buffers_) {
    if (address >= buffer.begin && address < buffer.end) return buffer.of_launch_before;
  }
  return false;
}

// Whether `actor` may use what `write` left.
bool GlobalMemory::visible(const Write& write, const Actor& actor, const Observer& observer) const {
  if (write.by.block == kNobody) return true;
  if (write.by.cluster == actor.cluster) return observer.knows(write.by.stamp);
  for (std::size_t i = write.atomics; i < atomics_.size(); ++i) {
    const Atomic& release = atomics_[i];
    if (release.by.cluster != write.by.cluster || !release.observer.knows(write.by.stamp)) continue;
    for (std::size_t j = i + 1; j < atomics_.size(); ++j) {
      const Atomic& acquire = atomics_[j];
      if (acquire.by.cluster != actor.cluster || acquire.address != release.address) continue;
      if (observer.knows(acquire.by.stamp)) return true;
    }
  }
  return false;
}

void GlobalMemory::access(const void* address, std::size_t bytes, std::size_t alignment, Access access,
                          const Actor& actor, const Observer& observer) {
  const char* begin = static_cast<const char*>(address);
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) throw std::runtime_error("misaligned global access");
  Buffer& buffer = buffer_of(begin, bytes);
  if (!buffer.writable) {
    if (access != Access::read && access != Access::read_constant) throw std::runtime_error(buffer.name + ": written");
    return;
  }
  if (access == Access::read_constant) {
    throw std::runtime_error(buffer.name + ": read as constant, though the kernel writes it");
  }
  if (access == Access::atomic) {
    atomics_.push_back({actor, address, observer});
    return;
  }
  const std::size_t first = static_cast<std::size_t>(begin - buffer.begin) / kCell;
  for (std::size_t cell = first; cell < first + (bytes + kCell - 1) / kCell; ++cell) {
    Write& write = buffer.cells[cell];
    if (!visible(write, actor, observer)) {
      throw std::runtime_error(buffer.name + ": byte " + std::to_string(cell * kCell) + " used by block " +
                               std::to_string(actor.block) + " though block " + std::to_string(write.by.block) +
                               " wrote it and nothing puts that before");
    }
    if (access == Access::write) write = {actor, static_cast<std::uint32_t>(atomics_.size())};
  }
}

}  // namespace cubind::emulator
