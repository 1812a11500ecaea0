// A record: everything about an artifact except the cubin's bytes, as kept on disk. It holds the key's ingredients
// again, so that a hit can be compared with what was asked for and a record can explain itself without the daemon that
// wrote it.
//
// Encoding (little-endian): "CBRC", u16 schema, u16 0, u32 payload size, payload, first 16 bytes of SHA-256 over all
// before. The payload is the fields below in order; text is u32 length + bytes. Any change of it is a new
// kRecordSchema, and with it a new folder; tests/golden/record keeps the bytes of each version for ever.
//
// decode_record is safe on hostile bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/result.hpp"
#include "protocol/artifact.hpp"

namespace cubind {

inline constexpr std::uint16_t kRecordSchema = 1;

// Bounds of a record, for writer and reader alike.
inline constexpr std::size_t kMaxRecordBytes = 1 << 20;
inline constexpr std::size_t kMaxIngredients = 256;
inline constexpr std::size_t kMaxIngredientBytes = 64 << 10;  // a value; long inputs are named by their digest
inline constexpr std::size_t kMaxSignatureBytes = 256;        // an Ed25519 signature and its key's name

struct Record {
  KernelKey key;
  Digest cubin_digest;
  std::uint32_t cubin_bytes = 0;
  std::uint64_t created_ms = 0;  // unix time
  KernelInfo info;
  std::vector<Ingredient> ingredients;
  Bytes signature;  // empty: unsigned
  bool operator==(const Record&) const = default;
};

Result<Bytes> encode_record(const Record& record);  // invalid_argument, naming the field, if a bound is passed
Result<Record> decode_record(ByteView bytes);       // corruption, saying what is wrong

}  // namespace cubind
