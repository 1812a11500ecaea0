// Little-endian fields, one after another. The reader never reads past its end and never allocates more than it was
// given: after the first failure every read gives zero or empty, and done() answers false.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/digest.hpp"

namespace cubind {

class ByteWriter {
 public:
  template <class T>
  void number(T value) {
    const auto at = out_.size();
    out_.resize(at + sizeof(T));
    store_le(out_.data() + at, value);
  }
  void digest(const Digest& value) { raw(std::as_bytes(std::span(value.bytes))); }
  void text(std::string_view value) {  // u32 length, bytes
    number(static_cast<std::uint32_t>(value.size()));
    raw(as_bytes(value));
  }
  void raw(ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  std::size_t size() const { return out_.size(); }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    const auto bytes = raw(sizeof(T));
    return bytes.empty() ? T{0} : load_le<T>(bytes.data());
  }
  Digest digest() {
    Digest value;
    const auto bytes = raw(value.bytes.size());
    if (!bytes.empty()) std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
    return value;
  }
  std::string text(std::size_t max_size) {
    const auto size = number<std::uint32_t>();
    if (size > max_size) ok_ = false;
    return std::string(as_text(raw(size)));
  }
  ByteView raw(std::size_t size) {  // empty on failure
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }  // everything read, nothing left over

 private:
  ByteView rest_;
  bool ok_ = true;
};

}  // namespace cubind
