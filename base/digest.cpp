#include "base/digest.hpp"

#include <cstring>

namespace cubind {

namespace {
constexpr char kDigits[] = "0123456789abcdef";

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

std::string Digest::hex() const {
  std::string out;
  out.reserve(64);
  for (const auto byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string Digest::short_hex() const {
  return hex().substr(0, 12);
}

Result<Digest> Digest::from_hex(std::string_view hex) {
  const Error bad{ErrorCode::invalid_argument, "key \"" + std::string(hex) + "\" is not 64 hexadecimal digits"};
  if (hex.size() != 64) return bad;
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i) {
    const int high = nibble(hex[2 * i]);
    const int low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return bad;
    digest.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

std::size_t DigestHash::operator()(const Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof(hash));
  return hash;
}

}  // namespace cubind
