#include "cache/bundle.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cache/byte_codec.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

constexpr std::string_view kMagic = "CUBNDL01";
constexpr std::string_view kSignatureMagic = "CUBSIG01";

Error corrupt(std::string what) {
  return {ErrorCode::corruption, "bundle " + std::move(what)};
}

Result<std::vector<Record>> read_manifest(ByteView manifest) {
  ByteReader in(manifest);
  const auto count = in.number<std::uint32_t>();
  if (!in.ok() || count > kMaxBundleRecords) return corrupt("names \"" + std::to_string(count) + "\" records");
  std::vector<Record> records;
  std::unordered_set<KernelKey, DigestHash> seen;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto bytes = in.raw(in.number<std::uint32_t>());
    if (!in.ok()) return corrupt("ends inside record " + std::to_string(i));
    auto record = decode_record(bytes);
    if (!record.ok()) return corrupt("record " + std::to_string(i) + ": " + record.error().message);
    FieldHasher hasher;
    for (const auto& [name, value] : record->ingredients) hasher.field(name, value);
    if (hasher.finish() != record->key) {
      return corrupt("record " + std::to_string(i) + " has key \"" + record->key.hex() +
                     "\", which its ingredients do not give");
    }
    if (!seen.insert(record->key).second) return corrupt("has key \"" + record->key.hex() + "\" twice");
    records.push_back(*std::move(record));
  }
  if (!in.done()) return corrupt("has more in its manifest than the records that it names");
  return records;
}

Result<std::optional<SigningKey>> read_signature(ByteView rest, ByteView head) {
  if (rest.empty()) return std::optional<SigningKey>();
  ByteReader in(rest);
  Signature signature;
  const bool known = as_text(in.raw(kSignatureMagic.size())) == kSignatureMagic;
  const auto key = in.raw(signature.key.bytes.size()), bytes = in.raw(signature.bytes.size());
  if (!known || !in.done()) return corrupt("ends in something that is no signature");
  std::memcpy(signature.key.bytes.data(), key.data(), key.size());
  std::memcpy(signature.bytes.data(), bytes.data(), bytes.size());
  if (!verifies(signature, head)) return corrupt("fails its signature");
  return std::optional(signature.key);
}

}  // namespace

std::vector<std::size_t> cubins_of(std::span<const Record> records) {
  std::vector<std::size_t> indexes;
  std::unordered_set<Digest, DigestHash> seen;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (seen.insert(records[i].cubin_digest).second) indexes.push_back(i);
  }
  return indexes;
}

Result<Bytes> begin_bundle(std::span<const Record> records) {
  if (records.size() > kMaxBundleRecords) {
    return Error{ErrorCode::invalid_argument, "\"" + std::to_string(records.size()) +
                                                  "\" records are more than a bundle holds, " +
                                                  std::to_string(kMaxBundleRecords)};
  }
  ByteWriter manifest;
  manifest.number(static_cast<std::uint32_t>(records.size()));
  for (const auto& record : records) {
    CUBIND_TRY(const auto bytes, encode_record(record));
    manifest.number(static_cast<std::uint32_t>(bytes.size()));
    manifest.raw(bytes);
  }
  const auto content = manifest.take();
  ByteWriter out;
  out.raw(as_bytes(kMagic));
  out.number(static_cast<std::uint64_t>(content.size()));
  out.digest(sha256(content));
  out.raw(content);
  return out.take();
}

Bytes signature_block(const Signature& signature) {
  ByteWriter out;
  out.raw(as_bytes(kSignatureMagic));
  out.raw(std::as_bytes(std::span(signature.key.bytes)));
  out.raw(std::as_bytes(std::span(signature.bytes)));
  return out.take();
}

Result<Bundle> read_bundle(ByteView file) {
  ByteReader in(file);
  if (as_text(in.raw(kMagic.size())) != kMagic) return corrupt("does not begin as one of this version");
  const auto manifest_size = in.number<std::uint64_t>();
  const auto digest = in.digest();
  const auto manifest = in.raw(manifest_size);
  if (!in.ok()) return corrupt("ends inside its manifest");
  if (sha256(manifest) != digest) return corrupt("has a manifest that fails its digest");
  CUBIND_TRY(auto records, read_manifest(manifest));

  Bundle bundle;
  std::unordered_map<Digest, ByteView, DigestHash> cubins;
  for (const auto index : cubins_of(records)) {
    const auto& record = records[index];
    const auto cubin = in.raw(record.cubin_bytes);
    if (!in.ok() || cubin.empty()) return corrupt("ends inside its cubins");
    if (sha256(cubin) != record.cubin_digest) {
      return corrupt("has a cubin of \"" + record.info.name + "\" that fails its digest");
    }
    cubins.emplace(record.cubin_digest, cubin);
  }
  for (auto& record : records) {
    const auto cubin = cubins.at(record.cubin_digest);
    if (cubin.size() != record.cubin_bytes) return corrupt("has two sizes for one cubin");
    bundle.items.push_back({std::move(record), cubin});
  }
  const auto used = kBundleHeadBytes + manifest.size();
  std::size_t cubin_bytes = 0;
  for (const auto& [name, cubin] : cubins) cubin_bytes += cubin.size();
  CUBIND_TRY(bundle.signer, read_signature(file.subspan(used + cubin_bytes), file.first(kBundleHeadBytes)));
  return bundle;
}

}  // namespace cubind
