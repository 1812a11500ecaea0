#include "client/wire_reader.hpp"

#include "protocol/limits.hpp"

namespace cubind::wire {

namespace {
constexpr std::size_t kSegmentTableBytes = 8;

PointerKind kind_of(std::uint64_t pointer) {
  return static_cast<PointerKind>(pointer & 3);
}
// From the word behind the pointer, in words; signed.
std::int64_t offset_of(std::uint64_t pointer) {
  return static_cast<std::int32_t>(pointer & 0xFFFFFFFF) >> 2;
}
Shape shape_of(std::uint64_t pointer) {
  return {static_cast<std::uint16_t>(pointer >> 32), static_cast<std::uint16_t>(pointer >> 48)};
}
ElementSize element_size_of(std::uint64_t pointer) {
  return static_cast<ElementSize>(pointer >> 32 & 7);
}
std::uint64_t element_count_of(std::uint64_t pointer) {
  return pointer >> 35;
}
}  // namespace

MessageReader::MessageReader(ByteView payload, std::size_t most_bytes, MessageKind kind)
    : strict_(kind == MessageKind::request) {
  if (payload.size() > most_bytes) {
    refuse("message of \"" + std::to_string(payload.size()) + "\" bytes is longer than " + std::to_string(most_bytes));
    return;
  }
  if (payload.size() < kSegmentTableBytes + 8 || payload.size() % 8 != 0) {
    corrupt("it is not a whole number of words, or empty");
    return;
  }
  words_ = payload.size() / 8 - 1;
  if (load_le<std::uint32_t>(payload.data()) != 0 || load_le<std::uint32_t>(payload.data() + 4) != words_) {
    corrupt("it is not exactly one segment");
    return;
  }
  segment_ = payload.subspan(kSegmentTableBytes);
  budget_ = 2 * words_ + 64;  // every object is read once; sharing one many times gets no further
}

StructReader MessageReader::root() {
  const StructReader none(*this, 0, {});
  return error_ ? none : none.structure_at(0);
}

void MessageReader::refuse(std::string message) {
  if (!error_) error_ = Error{ErrorCode::invalid_argument, std::move(message)};
}

void MessageReader::corrupt(const char* why) {
  if (!error_) error_ = Error{ErrorCode::corruption, std::string("message does not parse: ") + why};
}

bool MessageReader::fits(std::int64_t first, std::uint64_t words) const {
  if (words == 0) return true;  // nothing will be read
  // Word 0 is the root pointer and part of no object.
  return first > 0 && static_cast<std::uint64_t>(first) <= words_ &&
         words <= words_ - static_cast<std::uint64_t>(first);
}

bool MessageReader::charge(std::uint64_t words) {
  if (words > budget_) {
    corrupt("it names the same words many times");
    return false;
  }
  budget_ -= words;
  return true;
}

std::size_t StructReader::pointer_word(std::size_t pointer) const {
  return pointer < shape_.pointers ? word_ + shape_.data + pointer : kNoPointer;
}

StructReader StructReader::structure(std::size_t pointer) const {
  return structure_at(pointer_word(pointer));
}

StructReader StructReader::structure_at(std::size_t pointer_word) const {
  const StructReader none(message_, 0, {});
  if (pointer_word == kNoPointer || message_.error()) return none;
  const auto pointer = message_.word(pointer_word);
  if (pointer == 0) return none;
  const auto first = static_cast<std::int64_t>(pointer_word) + 1 + offset_of(pointer);
  const Shape shape = shape_of(pointer);
  if (kind_of(pointer) != PointerKind::structure || !message_.fits(first, shape.words())) {
    message_.corrupt("a pointer to a struct is of another kind or leaves the message");
    return none;
  }
  if (!message_.charge(shape.words())) return none;
  return {message_, static_cast<std::size_t>(first), shape};
}

StructReader::Items StructReader::elements(std::size_t pointer_word, ElementSize size) const {
  if (pointer_word == kNoPointer || message_.error()) return {};
  const auto pointer = message_.word(pointer_word);
  if (pointer == 0) return {};
  const auto first = static_cast<std::int64_t>(pointer_word) + 1 + offset_of(pointer);
  const auto count = element_count_of(pointer);
  const std::uint64_t words = size == ElementSize::byte        ? (count + 7) / 8
                              : size == ElementSize::composite ? count + 1  // the tag
                                                               : count;
  if (kind_of(pointer) != PointerKind::list || element_size_of(pointer) != size || !message_.fits(first, words)) {
    message_.corrupt("a pointer to a list is of another kind or leaves the message");
    return {};
  }
  if (!message_.charge(words)) return {};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(count), {}};
}

StructReader::Items StructReader::composite(std::size_t pointer, const char* name, std::size_t most) const {
  const auto block = elements(pointer_word(pointer), ElementSize::composite);
  if (block.first == 0) return {};
  const auto tag = message_.word(block.first);
  const Shape shape = shape_of(tag);
  const auto count = (tag & 0xFFFFFFFF) >> 2;
  if (kind_of(tag) != PointerKind::structure || count * shape.words() > block.count) {
    message_.corrupt("a list of structs is larger than its block");
    return {};
  }
  if (!within(count, most, name)) return {};
  if (shape.words() == 0 && !message_.charge(count)) return {};  // structs without words cost too
  return {block.first + 1, count, shape};
}

bool StructReader::within(std::size_t count, std::size_t most, const char* name) const {
  if (!message_.strict_ || count <= most) return true;
  message_.refuse(std::string(name) + " with \"" + std::to_string(count) + "\" entries has more than " +
                  std::to_string(most));
  return false;
}

void StructReader::refuse_choice(const char* name, std::uint16_t got, std::uint16_t last) const {
  if (!message_.strict_) return;
  message_.refuse(std::string(name) + " \"" + std::to_string(got) + "\" is not a number from 0 to " +
                  std::to_string(last));
}

void StructReader::arch(std::size_t byte, Arch& value) const {
  const auto suffix = load<std::uint8_t>(byte + 2);
  if (suffix != '\0' && suffix != 'a' && suffix != 'f') {
    message_.refuse("arch suffix \"" + std::to_string(suffix) + "\" is not 0, 'a' or 'f'");
    return;
  }
  value = {load<std::uint16_t>(byte), static_cast<char>(suffix)};
}

void StructReader::dtype(std::size_t byte, DType& value, const char* name) const {
  const auto number = load<std::uint8_t>(byte);
  value = static_cast<DType>(number);
  if (value == DType::none || bits_of(value) != 0) return;
  message_.refuse(std::string(name) + " \"" + std::to_string(number) + "\" is not the number of a type");
  value = DType::none;
}

void StructReader::digest(std::size_t pointer, Digest& value) const {
  const StructReader from = structure(pointer);
  for (std::size_t word = 0; word < 4; ++word) {
    store_le(reinterpret_cast<std::byte*>(value.bytes.data()) + word * 8, from.load<std::uint64_t>(word * 8));
  }
}

void StructReader::digests(std::size_t pointer, std::vector<Digest>& values, const char* name, std::size_t most) const {
  const auto items = composite(pointer, name, most);
  values.resize(items.count);
  for (std::size_t i = 0; i < items.count; ++i) {
    const StructReader from(message_, items.first + i * items.shape.words(), items.shape);
    for (std::size_t word = 0; word < 4; ++word) {
      store_le(reinterpret_cast<std::byte*>(values[i].bytes.data()) + word * 8, from.load<std::uint64_t>(word * 8));
    }
  }
}

void StructReader::blob(std::size_t pointer, Bytes& value) const {
  const auto items = elements(pointer_word(pointer), ElementSize::byte);
  if (items.count == 0) return;
  const auto* begin = message_.segment_.data() + items.first * 8;
  value.assign(begin, begin + items.count);
}

void StructReader::text(std::size_t pointer, std::string& value, const char* name) const {
  text_at(pointer_word(pointer), value, name);
}

void StructReader::texts(std::size_t pointer, std::vector<std::string>& values, const char* name,
                         std::size_t most) const {
  const auto items = elements(pointer_word(pointer), ElementSize::pointer);
  if (!within(items.count, most, name)) return;
  values.resize(items.count);
  for (std::size_t i = 0; i < items.count && !message_.error(); ++i) text_at(items.first + i, values[i], name);
}

void StructReader::text_at(std::size_t pointer_word, std::string& value, const char* name) const {
  const auto items = elements(pointer_word, ElementSize::byte);
  if (items.first == 0) return;
  // An empty list may point anywhere: not even the address of its first byte may be formed.
  const auto* begin =
      items.count == 0 ? nullptr : reinterpret_cast<const char*>(message_.segment_.data()) + items.first * 8;
  if (begin == nullptr || begin[items.count - 1] != '\0') {
    message_.corrupt("a text does not end in a zero byte");
    return;
  }
  if (message_.strict_ && items.count - 1 > limits::kMaxText) {
    message_.refuse(std::string(name) + " of \"" + std::to_string(items.count - 1) + "\" bytes is longer than " +
                    std::to_string(limits::kMaxText));
    return;
  }
  value.assign(begin, items.count - 1);
}

}  // namespace cubind::wire
