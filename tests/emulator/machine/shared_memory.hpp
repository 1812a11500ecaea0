// A block's shared memory with a race check. Each 32-bit word knows who wrote and read it last, and in which interval
// between two block barriers. An error, whatever the schedule happened to do:
//   a read of a word that nothing has written, or that another thread has written in this interval;
//   a write to a word that another thread has read or written in this interval;
//   any access to a word that an asynchronous copy is on its way to.
// Threads of one warp get no credit for running together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cubind::emulator {

class SharedMemory {
 public:
  // Shared addresses start here: the first kilobyte belongs to the system, and address 0 is never right.
  static constexpr unsigned kBase = 1024;

  explicit SharedMemory(unsigned bytes);

  void read(void* to, unsigned address, unsigned bytes, unsigned thread);
  void write(unsigned address, const void* from, unsigned bytes, unsigned thread);

  // An asynchronous copy: from start to finish its words belong to nobody; after finish they are `thread`'s writes.
  // The data (16 bytes) arrive when they are put, at any time between.
  void start_copy(unsigned address, unsigned thread);
  void put_copy(unsigned address, const void* from);
  void finish_copy(unsigned address, unsigned thread);

  // Intervals count from 1; a block barrier begins the next.
  void next_interval() { ++interval_; }
  std::uint32_t interval() const { return interval_; }

 private:
  struct Word {
    std::uint32_t written = 0, read = 0;  // interval; 0: never
    std::uint16_t writer = 0, reader = 0;
    bool in_flight = false;
  };
  static constexpr std::uint16_t kSeveral = 0xffff;

  Word* words_at(unsigned address, unsigned bytes);
  void check_write(const Word& word, unsigned address, unsigned thread) const;

  std::vector<unsigned char> bytes_;
  std::vector<Word> words_;
  std::uint32_t interval_ = 1;
};

}  // namespace cubind::emulator
