// Device memory of an emulated launch: named buffers of exact size, each on pages of its own between two that cannot be
// touched. The kernel's accesses go through access(), which knows the exact bytes, the alignment and what is read-only;
// the guard pages stop an access that does not come through there.
//
// Buffers that the kernel writes have a race check, whatever the schedule happened to do. What a thread has written may
// be used by another of its block after a barrier; by a thread of another block only if, in this order: the writer's
// block passed a barrier (or the writer itself goes on), did an atomic, the reader's block did an atomic at the same
// address, and passed a barrier (or the reader itself did it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulator/machine/knowledge.hpp"

namespace cubind::emulator {

enum class Access {
  read_constant,  // ld.global.nc, cp.async: of what nobody writes in this launch
  read,
  write,
  atomic,  // with acquire and release
};

// Who does it: the cluster, the block's number in the grid, and the event among the cluster's.
struct Actor {
  std::uint32_t cluster, block;
  Stamp stamp;
};

class GlobalMemory {
 public:
  GlobalMemory() = default;
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;
  ~GlobalMemory();

  // `bytes` of 0xff (NaN in every float type), 256-byte aligned; null if bytes is 0. Lives as long as this object.
  void* allocate(std::string name, std::size_t bytes, bool writable);

  // The launch before a dependent one writes it.
  void mark_of_launch_before(const void* buffer);
  bool is_of_launch_before(const void* address) const;

  // A launch sees all that was written before it.
  void begin_launch();

  // Throws std::runtime_error that names the buffer (or the nearest one) if the access is not allowed.
  void access(const void* address, std::size_t bytes, std::size_t alignment, Access access, const Actor& actor,
              const Observer& observer);

 private:
  static constexpr std::size_t kCell = 2;  // bytes, the smallest store
  static constexpr std::uint32_t kNobody = ~0u;
  struct Write {
    Actor by{kNobody, kNobody, {}};
    std::uint32_t atomics = 0;  // done in the launch before it
  };
  struct Atomic {
    Actor by;
    const void* address;
    Observer observer;  // as it was then
  };
  struct Buffer {
    std::string name;
    char* begin;
    char* end;
    bool writable;
    bool of_launch_before = false;
    void* mapping;
    std::size_t mapped;
    std::vector<Write> cells;  // of a writable one
  };

  Buffer& buffer_of(const char* begin, std::size_t bytes);
  bool visible(const Write& write, const Actor& actor, const Observer& observer) const;

  std::vector<Buffer> buffers_;
  std::vector<Atomic> atomics_;  // of this launch, in their order
};

}  // namespace cubind::emulator
