// Records and their cubins in one file, to be carried to another machine. Little-endian:
//    0  "CUBNDL01"
//    8  u64 size of the manifest
//   16  SHA-256 of the manifest
//   48  the manifest: u32 count; for each record u32 size and the record as cache/record writes it
//       the cubins that the records name, each once, in the order of first mention, back to back
//       if it is signed: "CUBSIG01", the signer's public key (32 bytes), the Ed25519 signature (64) of the first 48
//       bytes
// So the signature covers the manifest's digest, the manifest the cubins' digests, and each key its ingredients.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ed25519.hpp"
#include "cache/record.hpp"

namespace cubind {

inline constexpr std::size_t kBundleHeadBytes = 48;       // what is signed
inline constexpr std::size_t kMaxBundleRecords = 65'536;  // a fleet's models have some thousand

// Head and manifest; the cubins follow, as cubins_of() lists them.
Result<Bytes> begin_bundle(std::span<const Record> records);

// Indexes of the records whose cubins a bundle of them holds, in its order.
std::vector<std::size_t> cubins_of(std::span<const Record> records);

Bytes signature_block(const Signature& signature);

struct BundleItem {
  Record record;
  ByteView cubin;  // into the file
};
struct Bundle {
  std::vector<BundleItem> items;
  std::optional<SigningKey> signer;  // whose signature was checked
};

// Checks everything before it answers: sizes, digests, that each key is the hash of its ingredients, the signature if
// there is one. corruption says what is wrong. Safe on hostile bytes. `file` outlives the bundle.
Result<Bundle> read_bundle(ByteView file);

}  // namespace cubind
