// Framing, sans I/O: u32 little-endian byte count, then that many bytes: one Cap'n Proto message in one segment, with
// its standard segment table. A KernelReply with code_bytes > 0 is followed by that many raw bytes outside any frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cubind {

inline constexpr std::size_t kFrameHeaderBytes = 4;

// Collects bytes as they come and hands out whole frames. Not thread-safe. Reading straight into space() costs no copy:
// a frame that stands alone in the buffer is handed out where it lies. Memory follows what has arrived, not what a
// header announces: at most twice one frame's limit plus what one read brought.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_(max_frame_bytes) {}

  // Room for at least `at_least` bytes (at least 1), to read from a socket into; commit() what was read. Valid until
  // the next call on this object.
  std::span<std::byte> space(std::size_t at_least);
  void commit(std::size_t bytes);

  void append(ByteView bytes);  // the same for bytes that are somewhere else already

  // The next whole frame's payload (8-byte aligned; valid until the next call on this object), nothing if more bytes
  // are needed, or invalid_argument if the announced length is 0, not a multiple of 8, or above the limit: the stream
  // is then lost, and every later call says so again.
  Result<std::optional<ByteView>> next();

  // Takes up to out.size() of the buffered bytes as they are: the raw bytes that follow a frame. Returns how many.
  std::size_t take(std::span<std::byte> out);

  std::size_t buffered() const { return end_ - begin_; }

  // Gives back what is not needed for the bytes that are here: a connection that waits holds next to no memory. Frames
  // handed out before are gone.
  void trim();

 private:
  std::byte* base() { return reinterpret_cast<std::byte*>(storage_.get()); }
  std::size_t capacity() const { return words_ * sizeof(std::uint64_t); }
  void move_to(std::size_t bytes);  // the unread ones, to the beginning of a storage of that size

  std::size_t max_;
  std::unique_ptr<std::uint64_t[]> storage_;  // words, so that a payload can lie aligned
  std::size_t words_ = 0;
  // Bytes [begin_, end_) of the storage are unread. An empty buffer starts at byte 4: the payload after the 4 bytes of
  // length is then aligned.
  std::size_t begin_ = kFrameHeaderBytes;
  std::size_t end_ = kFrameHeaderBytes;
};

}  // namespace cubind
