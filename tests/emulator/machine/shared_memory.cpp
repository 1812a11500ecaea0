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

SharedMemory::SharedMemory(unsigned bytes) : bytes_(bytes, 0xff), words_((bytes + 3) / 4) {}

SharedMemory::Word* SharedMemory::words_at(unsigned address, unsigned bytes) {
  if (address % bytes != 0) fail("misaligned", address, 0);
  if (address < kBase || address - kBase + bytes > bytes_.size()) fail("out of bounds", address, 0);
  return &words_[(address - kBase) / 4];
}

void SharedMemory::read(void* to, unsigned address, unsigned bytes, unsigned thread) {
  Word* word = words_at(address, bytes);
  for (unsigned i = 0; i < (bytes + 3) / 4; ++i, ++word) {
    if (word->in_flight) fail("read while a copy is on its way", address, thread);
    if (word->written == 0) fail("read before it is written", address, thread);
    if (word->written == interval_ && word->writer != thread)
      fail("read without a barrier after a write", address, thread);
    const bool first = word->read != interval_;
    word->reader = first || word->reader == thread ? static_cast<std::uint16_t>(thread) : kSeveral;
    word->read = interval_;
  }
  std::memcpy(to, &bytes_[address - kBase], bytes);
}

void SharedMemory::check_write(const Word& word, unsigned address, unsigned thread) const {
  if (word.in_flight) fail("written while a copy is on its way", address, thread);
  if (word.written == interval_ && word.writer != thread) fail("written twice without a barrier", address, thread);
  if (word.read == interval_ && word.reader != thread) fail("written without a barrier after a read", address, thread);
}

void SharedMemory::write(unsigned address, const void* from, unsigned bytes, unsigned thread) {
  Word* word = words_at(address, bytes);
  for (unsigned i = 0; i < (bytes + 3) / 4; ++i, ++word) {
    check_write(*word, address, thread);
    word->written = interval_;
    word->writer = static_cast<std::uint16_t>(thread);
  }
  std::memcpy(&bytes_[address - kBase], from, bytes);
}

void SharedMemory::start_copy(unsigned address, unsigned thread) {
  Word* word = words_at(address, 16);
  for (unsigned i = 0; i < 4; ++i, ++word) {
    check_write(*word, address, thread);
    word->in_flight = true;
  }
}

void SharedMemory::put_copy(unsigned address, const void* from) {
  std::memcpy(&bytes_[address - kBase], from, 16);
}

void SharedMemory::finish_copy(unsigned address, unsigned thread) {
  Word* word = words_at(address, 16);
  for (unsigned i = 0; i < 4; ++i, ++word) {
    word->in_flight = false;
    word->written = interval_;
    word->writer = static_cast<std::uint16_t>(thread);
  }
}

}  // namespace cubind::emulator
