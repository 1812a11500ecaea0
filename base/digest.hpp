// SHA-256 values, and a hasher of named, length-prefixed fields (so "ab"+"c" and "a"+"bc" never collide) that can also
// list what went into it: that list is what `cubinctl explain` prints.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cubind {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(const Digest&) const = default;
  bool is_zero() const { return *this == Digest{}; }
  std::string hex() const;                               // 64 lower-case digits
  std::string short_hex() const;                         // the first 12, for log lines
  static Result<Digest> from_hex(std::string_view hex);  // invalid_argument unless exactly 64 hex digits
};

struct DigestHash {  // the value is already uniform: its first 8 bytes are the hash
  std::size_t operator()(const Digest& digest) const;
};

// One-shot SHA-256. Needs OpenSSL's libcrypto (target cubind_digest); not part of the client library.
Digest sha256(ByteView data);

struct Ingredient {
  std::string name;
  std::string value;  // text as hashed; long values (the source) are named by their digest
  bool operator==(const Ingredient&) const = default;
};

// Order matters and is part of the result. Not thread-safe; use one per digest.
class FieldHasher {
 public:
  void field(std::string_view name, std::string_view value);
  void field(std::string_view name, std::uint64_t value) { field(name, std::to_string(value)); }
  Digest finish() const;  // SHA-256 over: for each field, u32 name length, name, u64 value length, value
  const std::vector<Ingredient>& ingredients() const { return ingredients_; }

 private:
  std::vector<Ingredient> ingredients_;
};

}  // namespace cubind
