// Writes one message as one Cap'n Proto segment, without Cap'n Proto. Objects lie in the order in which they are made,
// empty texts, lists and digests are null pointers: the bytes are those that protocol/codec writes.
// client/wire_layout.hpp says where each field lies and drives StructWriter and StructReader (client/wire_reader.hpp)
// through the same calls; what only one of them needs (a limit, a fallback, a field's name), the other one ignores.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "protocol/arch.hpp"
#include "protocol/dtype.hpp"

namespace cubind::wire {

// Size of a struct: words of data, then pointers, a word each.
struct Shape {
  std::uint16_t data = 0;
  std::uint16_t pointers = 0;
  std::size_t words() const { return std::size_t{data} + pointers; }
};
// kShape<T> is specialized for each message in client/wire_layout.hpp. Where none is known there is no Shape to use.
struct NoShape {};
template <class T>
inline constexpr NoShape kShape{};
template <>
inline constexpr Shape kShape<Digest>{4, 0};

// The low two bits of a pointer, and the size code of a list's elements (Cap'n Proto's encoding specification).
enum class PointerKind : std::uint64_t { structure = 0, list = 1 };
enum class ElementSize : std::uint64_t { byte = 2, pointer = 6, composite = 7 };

class StructWriter;

class MessageWriter {
 public:
  MessageWriter();
  StructWriter root(Shape shape);
  Bytes finish() &&;  // the whole frame, length included

 private:
  friend class StructWriter;
  std::size_t allocate(std::size_t words);  // zeroed, at the end; gives the index of the first
  std::byte* at(std::size_t word);
  void point(std::size_t from, std::size_t to, PointerKind kind, std::uint64_t upper_half);
  std::size_t new_struct(std::size_t pointer, Shape shape);
  std::size_t new_list(std::size_t pointer, ElementSize size, std::size_t count, std::size_t words);

  Bytes frame_;
};

// One struct of the message: fields by byte (flags by bit) of the data, pointers by index.
class StructWriter {
 public:
  StructWriter(MessageWriter& message, std::size_t word, Shape shape) : message_(message), word_(word), shape_(shape) {}

  void number(std::size_t byte, std::uint8_t value) { store_le(data() + byte, value); }
  void number(std::size_t byte, std::uint16_t value) { store_le(data() + byte, value); }
  void number(std::size_t byte, std::uint32_t value) { store_le(data() + byte, value); }
  void number(std::size_t byte, std::uint64_t value) { store_le(data() + byte, value); }
  void number(std::size_t byte, double value) { store_le(data() + byte, std::bit_cast<std::uint64_t>(value)); }
  void flag(std::size_t bit, bool value);
  void arch(std::size_t byte, Arch value);
  void dtype(std::size_t byte, DType value, const char*) { number(byte, static_cast<std::uint8_t>(value)); }
  template <class Enum>
  void choice(std::size_t byte, Enum value, Enum, Enum, const char*) {
    number(byte, static_cast<std::uint16_t>(value));
  }

  void digest(std::size_t pointer, const Digest& value);
  void digests(std::size_t pointer, const std::vector<Digest>& values, const char* name, std::size_t most = 0);
  void text(std::size_t pointer, const std::string& value, const char*) { text_at(pointer_word(pointer), value); }
  void blob(std::size_t pointer, const Bytes& value);
  void texts(std::size_t pointer, const std::vector<std::string>& values, const char* name, std::size_t most = 0);

  template <class T>
  void part(std::size_t pointer, const T& value) {
    StructWriter to(message_, message_.new_struct(pointer_word(pointer), kShape<T>), kShape<T>);
    fields(to, value);
  }
  template <class T>
  void list(std::size_t pointer, const std::vector<T>& values, const char*, std::size_t = 0) {
    if (values.empty()) return;
    const std::size_t first = new_composite(pointer, values.size(), kShape<T>);
    for (std::size_t i = 0; i < values.size(); ++i) {
      StructWriter to(message_, first + i * kShape<T>.words(), kShape<T>);
      fields(to, values[i]);
    }
  }

 private:
  std::byte* data() { return message_.at(word_); }
  std::size_t pointer_word(std::size_t pointer) const { return word_ + shape_.data + pointer; }
  std::size_t new_composite(std::size_t pointer, std::size_t count, Shape shape);
  void text_at(std::size_t pointer_word, const std::string& value);

  MessageWriter& message_;
  std::size_t word_;
  Shape shape_;
};

}  // namespace cubind::wire
