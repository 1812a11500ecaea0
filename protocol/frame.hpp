// Framing, sans I/O: u32 little-endian byte count, then that many bytes: one Cap'n Proto message in one segment, with
// its standard segment table. A KernelReply with code_bytes > 0 is followed by that many raw bytes outside any frame.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cubind {

inline constexpr std::size_t kFrameHeaderBytes = 4;

// Collects bytes as they come and hands out whole frames. Not thread-safe. Never holds more than one frame's limit plus
// what one read brought.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_(max_frame_bytes) {}

  void append(ByteView bytes);

  // The next whole frame's payload (8-byte aligned; valid until the next call on this object), nothing if more bytes
  // are needed, or invalid_argument if the announced length is 0, not a multiple of 8, or above the limit: the stream
  // is then lost.
  Result<std::optional<ByteView>> next();

  std::size_t buffered() const;

 private:
  std::size_t max_;
  Bytes buffer_;
  std::size_t begin_ = 0;
  std::vector<std::uint64_t> frame_;  // aligned copy of the frame handed out last
};

}  // namespace cubind
