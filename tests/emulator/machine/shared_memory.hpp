// A block's shared memory with a race check. Each 32-bit word knows who wrote it and who has read it since. An error,
// whatever the schedule happened to do:
//   a read of a word that nothing has written, or whose writer's event the reader does not know of (knowledge.hpp);
//   a write to a word of which the writer does not know all earlier accesses;
//   any access to a word that an asynchronous copy is on its way to, or that is part of an mbarrier;
//   a read or write of the async proxy where a thread has written and no proxy fence lies between.
// Threads of one warp get no credit for running together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "tests/emulator/machine/knowledge.hpp"
#include "tests/emulator/machine/mbarrier.hpp"

namespace cubind::emulator {

class SharedMemory {
 public:
  // Shared addresses start here: the first kilobyte belongs to the system, and address 0 is never right.
  static constexpr unsigned kBase = 1024;

  explicit SharedMemory(unsigned bytes);

  void read(void* to, unsigned address, unsigned bytes, const Observer& reader);
  void write(unsigned address, const void* from, unsigned bytes, const Observer& writer);

  // The async proxy reads for a thread: checked and marked as read by `as`, whose epoch a wait hands to others. The
  // bytes are there from now until then: at().
  // `writers` gets who wrote the words.
  void start_async_read(unsigned address, unsigned bytes, const Observer& reader, const Stamp& as,
                        std::vector<Stamp>* writers = nullptr);
  const unsigned char* at(unsigned address, unsigned bytes) const;

  // An asynchronous copy: from start to finish its words belong to nobody; after finish they are `as`'s writes. The
  // data arrive when they are put, at any time between.
  void start_copy(unsigned address, unsigned bytes, const Observer& by, bool async_proxy);
  void put_copy(unsigned address, const void* from, unsigned bytes);  // null: zeros
  void finish_copy(unsigned address, unsigned bytes, const Stamp& as, bool async_proxy);

  Mbarrier& make_mbarrier(unsigned address, unsigned count, const Observer& by, std::uint16_t actor);
  void end_mbarrier(unsigned address, const Observer& by);
  Mbarrier& mbarrier(unsigned address);  // there must be one; stays where it is as long as this object
  std::map<unsigned, Mbarrier>& mbarriers() { return mbarriers_; }

  // Intervals count from 1; a block barrier begins the next.
  void next_interval() { ++interval_; }
  const std::uint32_t& interval() const { return interval_; }
  // From now on readers are told apart; before, two readers in an interval are "several".
  void track_readers() { track_readers_ = true; }

 private:
  enum class Kind : std::uint8_t { unwritten, generic, async_proxy, in_flight, mbarrier };
  struct Word {
    Stamp writer, reader;
    std::uint32_t more_readers = 0;  // index into more_readers_; 0: none
    Kind kind = Kind::unwritten;
  };
  static constexpr std::uint16_t kSeveral = 0xffff;

  Word* words_at(unsigned address, unsigned bytes, unsigned alignment);
  void add_reader(Word& word, const Observer& reader, const Stamp& as);
  void forget_readers(Word& word);
  void check_read(const Word& word, unsigned address, const Observer& reader) const;
  void check_write(const Word& word, unsigned address, const Observer& writer) const;
  static bool ordered(const Stamp& earlier, const Observer& later);

  std::vector<unsigned char> bytes_;
  std::vector<Word> words_;
  std::vector<std::vector<Stamp>> more_readers_;
  std::map<unsigned, Mbarrier> mbarriers_;
  std::uint32_t interval_ = 1;
  bool track_readers_ = false;
};

}  // namespace cubind::emulator
