#include "base/digest.hpp"

#include <cstring>
#include <span>

namespace cubind {

namespace {
constexpr char kDigits[] = "0123456789abcdef";

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string digits_of(std::span<const std::uint8_t> bytes) {
  std::string out(2 * bytes.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4];
    out[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return out;
}
}  // namespace

std::string Digest::hex() const {
  return digits_of({bytes.data(), bytes.size()});
}

std::string Digest::short_hex() const {
  return digits_of({bytes.data(), 6});
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
