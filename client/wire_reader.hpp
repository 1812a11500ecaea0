// Reads one message of one Cap'n Proto segment, without Cap'n Proto. The bytes may be hostile: every pointer is checked
// against the segment, and what is read in all is bounded by the segment's size, so that an object named many times
// does not multiply. Depth needs no limit of its own: no type of the schema contains itself. Nothing throws; the first
// thing that is wrong is kept, and what is read after it is empty.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "client/wire_writer.hpp"
#include "protocol/arch.hpp"
#include "protocol/dtype.hpp"

namespace cubind::wire {

class StructReader;

// Who wrote it. In a request an unknown value of an enum, and a text or list above its limit, is refused; in a reply an
// unknown value has a fallback.
enum class MessageKind { request, reply };

class MessageReader {
 public:
  MessageReader(ByteView payload, std::size_t most_bytes, MessageKind kind);
  StructReader root();

  const std::optional<Error>& error() const { return error_; }
  void refuse(std::string message);  // invalid_argument
  void corrupt(const char* why);

 private:
  friend class StructReader;
  std::uint64_t word(std::size_t index) const { return load_le<std::uint64_t>(segment_.data() + index * 8); }
  bool fits(std::int64_t first, std::uint64_t words) const;
  bool charge(std::uint64_t words);  // takes from the budget

  ByteView segment_;
  std::uint64_t words_ = 0;
  std::uint64_t budget_ = 0;
  bool strict_;
  std::optional<Error> error_;
};

// One struct of the message. A field beyond what the writer's version of the struct has reads as zero.
class StructReader {
 public:
  StructReader(MessageReader& message, std::size_t word, Shape shape) : message_(message), word_(word), shape_(shape) {}

  void number(std::size_t byte, std::uint8_t& value) const { value = load<std::uint8_t>(byte); }
  void number(std::size_t byte, std::uint16_t& value) const { value = load<std::uint16_t>(byte); }
  void number(std::size_t byte, std::uint32_t& value) const { value = load<std::uint32_t>(byte); }
  void number(std::size_t byte, std::uint64_t& value) const { value = load<std::uint64_t>(byte); }
  void number(std::size_t byte, double& value) const { value = std::bit_cast<double>(load<std::uint64_t>(byte)); }
  void flag(std::size_t bit, bool& value) const { value = (load<std::uint8_t>(bit / 8) >> bit % 8 & 1) != 0; }
  void arch(std::size_t byte, Arch& value) const;
  void dtype(std::size_t byte, DType& value, const char* name) const;
  template <class Enum>
  void choice(std::size_t byte, Enum& value, Enum last, Enum fallback, const char* name) const {
    const auto got = load<std::uint16_t>(byte);
    value = static_cast<Enum>(got);
    if (got <= static_cast<std::uint16_t>(last)) return;
    value = fallback;
    refuse_choice(name, got, static_cast<std::uint16_t>(last));
  }

  void digest(std::size_t pointer, Digest& value) const;
  void digests(std::size_t pointer, std::vector<Digest>& values, const char* name, std::size_t most = SIZE_MAX) const;
  void text(std::size_t pointer, std::string& value, const char* name) const;
  void blob(std::size_t pointer, Bytes& value) const;
  void texts(std::size_t pointer, std::vector<std::string>& values, const char* name,
             std::size_t most = SIZE_MAX) const;

  template <class T>
  void part(std::size_t pointer, T& value) const {
    const StructReader from = structure(pointer);
    fields(from, value);
  }
  template <class T>
  void list(std::size_t pointer, std::vector<T>& values, const char* name, std::size_t most = SIZE_MAX) const {
    const auto items = composite(pointer, name, most);
    values.resize(items.count);
    for (std::size_t i = 0; i < items.count && !message_.error(); ++i) {
      const StructReader from(message_, items.first + i * items.shape.words(), items.shape);
      fields(from, values[i]);
    }
  }

 private:
  friend class MessageReader;
  static constexpr std::size_t kNoPointer = SIZE_MAX;
  struct Items {  // of a list; none if it is null, or wrong
    std::size_t first = 0;
    std::size_t count = 0;
    Shape shape;
  };

  template <class Int>
  Int load(std::size_t byte) const {
    if (byte + sizeof(Int) > std::size_t{shape_.data} * 8) return 0;
    return load_le<Int>(message_.segment_.data() + word_ * 8 + byte);
  }
  std::size_t pointer_word(std::size_t pointer) const;  // kNoPointer if the writer's version has no such pointer
  StructReader structure(std::size_t pointer) const;
  StructReader structure_at(std::size_t pointer_word) const;
  Items elements(std::size_t pointer_word, ElementSize size) const;
  Items composite(std::size_t pointer, const char* name, std::size_t most) const;
  void text_at(std::size_t pointer_word, std::string& value, const char* name) const;
  bool within(std::size_t count, std::size_t most, const char* name) const;
  void refuse_choice(const char* name, std::uint16_t got, std::uint16_t last) const;

  MessageReader& message_;
  std::size_t word_;
  Shape shape_;
};

}  // namespace cubind::wire
