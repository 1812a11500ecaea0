#include "protocol/frame.hpp"

#include <algorithm>

namespace cubind {

std::span<std::byte> FrameReader::space(std::size_t at_least) {
  at_least = std::max<std::size_t>(at_least, 1);
  if (begin_ == end_) begin_ = end_ = kFrameHeaderBytes;
  if (capacity() < end_ + at_least) {
    const std::size_t unread = buffered();
    const std::size_t needed = kFrameHeaderBytes + unread + at_least;
    if (needed <= capacity()) {
      std::memmove(base() + kFrameHeaderBytes, base() + begin_, unread);
      begin_ = kFrameHeaderBytes;
      end_ = begin_ + unread;
    } else {
      move_to(std::max(needed, 2 * unread));
    }
  }
  return {base() + end_, capacity() - end_};
}

void FrameReader::move_to(std::size_t bytes) {
  const std::size_t unread = buffered();
  const std::size_t words = (bytes + 7) / 8;
  auto storage = std::make_unique_for_overwrite<std::uint64_t[]>(words);
  if (unread > 0) {
    std::memcpy(reinterpret_cast<std::byte*>(storage.get()) + kFrameHeaderBytes, base() + begin_, unread);
  }
  storage_ = std::move(storage);
  words_ = words;
  begin_ = kFrameHeaderBytes;
  end_ = begin_ + unread;
}

void FrameReader::trim() {
  if (buffered() == 0) {
    storage_.reset();
    words_ = 0;
    begin_ = end_ = kFrameHeaderBytes;
  } else if (const auto needed = kFrameHeaderBytes + buffered(); capacity() > 2 * needed + 64) {
    move_to(needed);
  }
}

void FrameReader::commit(std::size_t bytes) {
  end_ += bytes;
}

void FrameReader::append(ByteView bytes) {
  if (bytes.empty()) return;
  std::memcpy(space(bytes.size()).data(), bytes.data(), bytes.size());
  commit(bytes.size());
}

Result<std::optional<ByteView>> FrameReader::next() {
  if (buffered() < kFrameHeaderBytes) return std::optional<ByteView>();
  const auto length = load_le<std::uint32_t>(base() + begin_);
  if (length == 0 || length % 8 != 0 || length > max_) {
    return Error{ErrorCode::invalid_argument, "frame length \"" + std::to_string(length) +
                                                  "\" is not a positive multiple of 8 of at most " +
                                                  std::to_string(max_) + " bytes"};
  }
  if (buffered() < kFrameHeaderBytes + length) return std::optional<ByteView>();
  std::size_t payload = begin_ + kFrameHeaderBytes;
  begin_ = payload + length;
  if (payload % 8 != 0) {
    // Pipelined behind other bytes: move it down over what was read already, its own header included.
    const std::size_t aligned = payload / 8 * 8;
    std::memmove(base() + aligned, base() + payload, length);
    payload = aligned;
  }
  return std::optional<ByteView>(ByteView(base() + payload, length));
}

std::size_t FrameReader::take(std::span<std::byte> out) {
  const std::size_t bytes = std::min(out.size(), buffered());
  if (bytes > 0) std::memcpy(out.data(), base() + begin_, bytes);
  begin_ += bytes;
  return bytes;
}

}  // namespace cubind
