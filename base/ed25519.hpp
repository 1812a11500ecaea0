// Ed25519 signatures, by OpenSSL's libcrypto (target cubind_digest); not part of the client library. Keys are PEM files
// as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cubind {

struct SigningKey {  // the public half: who signed
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const SigningKey&) const = default;
};

struct Signature {
  SigningKey key;
  std::array<std::uint8_t, 64> bytes{};
  bool operator==(const Signature&) const = default;
};

// not_found or invalid_argument name the file and why.
Result<Signature> sign_with(const std::string& private_key_file, ByteView message);
Result<SigningKey> read_public_key(const std::string& file);

bool verifies(const Signature& signature, ByteView message);

}  // namespace cubind
