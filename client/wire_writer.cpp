#include "client/wire_writer.hpp"

#include "protocol/frame.hpp"

namespace cubind::wire {

namespace {
constexpr std::size_t kSegmentTableBytes = 8;
constexpr std::size_t kSegmentStart = kFrameHeaderBytes + kSegmentTableBytes;
constexpr std::size_t kUsualFrameBytes = 1024;

std::uint64_t upper_half(Shape shape) {
  return static_cast<std::uint64_t>(shape.data) << 32 | static_cast<std::uint64_t>(shape.pointers) << 48;
}
}  // namespace

MessageWriter::MessageWriter() {
  frame_.reserve(kUsualFrameBytes);
  frame_.resize(kSegmentStart);
  allocate(1);  // the root pointer
}

StructWriter MessageWriter::root(Shape shape) {
  return {*this, new_struct(0, shape), shape};
}

Bytes MessageWriter::finish() && {
  store_le(frame_.data(), static_cast<std::uint32_t>(frame_.size() - kFrameHeaderBytes));
  store_le(frame_.data() + kFrameHeaderBytes + 4, static_cast<std::uint32_t>((frame_.size() - kSegmentStart) / 8));
  return std::move(frame_);
}

std::size_t MessageWriter::allocate(std::size_t words) {
  const std::size_t first = (frame_.size() - kSegmentStart) / 8;
  frame_.resize(frame_.size() + words * 8);
  return first;
}

std::byte* MessageWriter::at(std::size_t word) {
  return frame_.data() + kSegmentStart + word * 8;
}

void MessageWriter::point(std::size_t from, std::size_t to, PointerKind kind, std::uint64_t upper) {
  const auto offset = static_cast<std::uint64_t>(to - from - 1);  // objects lie behind their pointers here
  store_le(at(from), offset << 2 | static_cast<std::uint64_t>(kind) | upper);
}

std::size_t MessageWriter::new_struct(std::size_t pointer, Shape shape) {
  const std::size_t word = allocate(shape.words());
  point(pointer, word, PointerKind::structure, upper_half(shape));
  return word;
}

std::size_t MessageWriter::new_list(std::size_t pointer, ElementSize size, std::size_t count, std::size_t words) {
  const std::size_t word = allocate(words);
  point(pointer, word, PointerKind::list,
        static_cast<std::uint64_t>(size) << 32 | static_cast<std::uint64_t>(count) << 35);
  return word;
}

void StructWriter::flag(std::size_t bit, bool value) {
  if (value) data()[bit / 8] |= static_cast<std::byte>(1 << bit % 8);
}

void StructWriter::arch(std::size_t byte, Arch value) {
  number(byte, value.number);
  number(byte + 2, static_cast<std::uint8_t>(value.suffix));
}

void StructWriter::digest(std::size_t pointer, const Digest& value) {
  if (value.is_zero()) return;
  const std::size_t word = message_.new_struct(pointer_word(pointer), kShape<Digest>);
  std::memcpy(message_.at(word), value.bytes.data(), value.bytes.size());
}

void StructWriter::digests(std::size_t pointer, const std::vector<Digest>& values, const char*, std::size_t) {
  if (values.empty()) return;
  const std::size_t first = new_composite(pointer, values.size(), kShape<Digest>);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(message_.at(first + i * kShape<Digest>.words()), values[i].bytes.data(), values[i].bytes.size());
  }
}

void StructWriter::texts(std::size_t pointer, const std::vector<std::string>& values, const char*, std::size_t) {
  if (values.empty()) return;
  const std::size_t first =
      message_.new_list(pointer_word(pointer), ElementSize::pointer, values.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) text_at(first + i, values[i]);
}

// A list of structs is one block: a tag word like a struct pointer, with their count as its offset, then the structs.
std::size_t StructWriter::new_composite(std::size_t pointer, std::size_t count, Shape shape) {
  const std::size_t words = count * shape.words();
  const std::size_t tag = message_.new_list(pointer_word(pointer), ElementSize::composite, words, 1 + words);
  store_le(message_.at(tag), static_cast<std::uint64_t>(count) << 2 | upper_half(shape));
  return tag + 1;
}

void StructWriter::blob(std::size_t pointer, const Bytes& value) {
  if (value.empty()) return;
  const std::size_t word =
      message_.new_list(pointer_word(pointer), ElementSize::byte, value.size(), (value.size() + 7) / 8);
  std::memcpy(message_.at(word), value.data(), value.size());
}

// Texts end in a zero byte, which is counted.
void StructWriter::text_at(std::size_t pointer_word, const std::string& value) {
  if (value.empty()) return;
  const std::size_t bytes = value.size() + 1;
  const std::size_t word = message_.new_list(pointer_word, ElementSize::byte, bytes, (bytes + 7) / 8);
  std::memcpy(message_.at(word), value.data(), value.size());
}

}  // namespace cubind::wire
