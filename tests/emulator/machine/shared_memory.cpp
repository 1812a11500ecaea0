#include "tests/emulator/machine/shared_memory.hpp"

#include <stdexcept>
#include <string>

namespace cubind::emulator {
namespace {

[[noreturn]] void fail(const char* what, unsigned address, unsigned thread) {
  throw std::runtime_error("shared memory, byte " + std::to_string(address - SharedMemory::kBase) + ", thread " +
                           std::to_string(thread) + ": " + what);
}

}  // namespace

SharedMemory::SharedMemory(unsigned bytes) : bytes_(bytes, 0xff), words_((bytes + 3) / 4), more_readers_(1) {}

SharedMemory::Word* SharedMemory::words_at(unsigned address, unsigned bytes, unsigned alignment) {
  if (address % alignment != 0) fail("misaligned", address, 0);
  if (address < kBase || address - kBase + bytes > bytes_.size()) fail("out of bounds", address, 0);
  return &words_[(address - kBase) / 4];
}

bool SharedMemory::ordered(const Stamp& earlier, const Observer& later) {
  if (earlier.epoch == 0) return true;
  if (earlier.actor == kSeveral) return earlier.block == later.block && earlier.interval < later.interval;
  return later.knows(earlier);
}

void SharedMemory::check_read(const Word& word, unsigned address, const Observer& reader) const {
  switch (word.kind) {
    case Kind::generic: break;
    case Kind::unwritten: fail("read before it is written", address, reader.number);
    case Kind::in_flight: fail("read while a copy is on its way", address, reader.number);
    case Kind::mbarrier: fail("is part of an mbarrier", address, reader.number);
    case Kind::async_proxy:
      if (reader.knows(word.writer)) return;
      fail("read without waiting for the mbarrier of the copy that wrote it", address, reader.number);
  }
  if (!reader.knows(word.writer)) fail("read without a barrier after a write", address, reader.number);
}

void SharedMemory::add_reader(Word& word, const Observer& reader, const Stamp& as) {
  auto& first = word.reader;
  if (ordered(first, reader) && word.more_readers == 0) {
    first = as;
    return;
  }
  if (!track_readers_) {
    first.actor = kSeveral;
    first.interval = interval_;
    return;
  }
  if (first.actor == as.actor) {
    first = as;
    return;
  }
  if (word.more_readers == 0) {
    word.more_readers = static_cast<std::uint32_t>(more_readers_.size());
    more_readers_.emplace_back();
  }
  auto& more = more_readers_[word.more_readers];
  for (auto& stamp : more) {
    if (stamp.actor == as.actor || ordered(stamp, reader)) {
      stamp = as;
      return;
    }
  }
  if (ordered(first, reader)) {
    first = as;
  } else {
    more.push_back(as);
  }
}

// Who knows of the write that comes now knows of them too.
void SharedMemory::forget_readers(Word& word) {
  word.reader = {};
  if (word.more_readers != 0) more_readers_[word.more_readers].clear();
}

void SharedMemory::read(void* to, unsigned address, unsigned bytes, const Observer& reader) {
  Word* word = words_at(address, bytes, bytes);
  for (unsigned i = 0; i < (bytes + 3) / 4; ++i, ++word) {
    check_read(*word, address, reader);
    add_reader(*word, reader, reader.stamp());
  }
  std::memcpy(to, &bytes_[address - kBase], bytes);
}

void SharedMemory::start_async_read(unsigned address, unsigned bytes, const Observer& reader, const Stamp& as,
                                    std::vector<Stamp>* writers) {
  Word* word = words_at(address, bytes, 16);
  for (unsigned i = 0; i < bytes / 4; ++i, ++word) {
    check_read(*word, address + i * 4, reader);
    if (word->kind == Kind::generic && !reader.knows_fenced(word->writer)) {
      fail("read by the async proxy without a proxy fence after a thread's write", address + i * 4, reader.number);
    }
    add_reader(*word, reader, as);
    if (writers == nullptr) continue;
    const auto same = [&](const Stamp& s) { return s.actor == word->writer.actor && s.epoch == word->writer.epoch; };
    if (std::none_of(writers->begin(), writers->end(), same)) writers->push_back(word->writer);
  }
}

const unsigned char* SharedMemory::at(unsigned address, unsigned bytes) const {
  if (address < kBase || address - kBase + bytes > bytes_.size()) fail("out of bounds", address, 0);
  return &bytes_[address - kBase];
}

void SharedMemory::check_write(const Word& word, unsigned address, const Observer& writer) const {
  if (word.kind == Kind::in_flight) fail("written while a copy is on its way", address, writer.number);
  if (word.kind == Kind::mbarrier) fail("is part of an mbarrier", address, writer.number);
  if (word.kind != Kind::unwritten && !writer.knows(word.writer)) {
    fail("written twice without a barrier", address, writer.number);
  }
  bool known = ordered(word.reader, writer);
  if (known && word.more_readers != 0) {
    for (const auto& stamp : more_readers_[word.more_readers]) known = known && ordered(stamp, writer);
  }
  if (!known) fail("written without a barrier after a read", address, writer.number);
}

void SharedMemory::write(unsigned address, const void* from, unsigned bytes, const Observer& writer) {
  Word* word = words_at(address, bytes, bytes);
  for (unsigned i = 0; i < (bytes + 3) / 4; ++i, ++word) {
    check_write(*word, address, writer);
    word->kind = Kind::generic;
    word->writer = writer.stamp();
    forget_readers(*word);
  }
  std::memcpy(&bytes_[address - kBase], from, bytes);
}

void SharedMemory::start_copy(unsigned address, unsigned bytes, const Observer& by, bool async_proxy) {
  Word* word = words_at(address, bytes, 16);
  for (unsigned i = 0; i < bytes / 4; ++i, ++word) {
    check_write(*word, address + i * 4, by);
    if (async_proxy && word->kind == Kind::generic && !by.knows_fenced(word->writer)) {
      fail("overwritten by the async proxy without a proxy fence after a thread's write", address + i * 4, by.number);
    }
    word->kind = Kind::in_flight;
    forget_readers(*word);
  }
}

void SharedMemory::put_copy(unsigned address, const void* from, unsigned bytes) {
  if (from == nullptr) {
    std::memset(&bytes_[address - kBase], 0, bytes);
  } else {
    std::memcpy(&bytes_[address - kBase], from, bytes);
  }
}

void SharedMemory::finish_copy(unsigned address, unsigned bytes, const Stamp& as, bool async_proxy) {
  Word* word = words_at(address, bytes, 16);
  for (unsigned i = 0; i < bytes / 4; ++i, ++word) {
    word->kind = async_proxy ? Kind::async_proxy : Kind::generic;
    word->writer = as;
  }
}

Mbarrier& SharedMemory::make_mbarrier(unsigned address, unsigned count, const Observer& by, std::uint16_t actor) {
  Word* word = words_at(address, 8, 8);
  for (unsigned i = 0; i < 2; ++i) {
    check_write(word[i], address, by);
    word[i].kind = Kind::mbarrier;
  }
  return mbarriers_.insert_or_assign(address, Mbarrier(address, count, by.stamp(), actor)).first->second;
}

void SharedMemory::end_mbarrier(unsigned address, const Observer& by) {
  mbarrier(address).end(by);
  Word* word = words_at(address, 8, 8);
  for (unsigned i = 0; i < 2; ++i) {
    word[i].kind = Kind::generic;
    word[i].writer = by.stamp();
  }
}

Mbarrier& SharedMemory::mbarrier(unsigned address) {
  const auto found = mbarriers_.find(address);
  if (found == mbarriers_.end() || !found->second.alive()) fail("no mbarrier here", address, 0);
  return found->second;
}

}  // namespace cubind::emulator
