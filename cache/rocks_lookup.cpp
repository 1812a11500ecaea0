#include "cache/rocks_lookup.hpp"

#include <utility>

#include "cache/rocks_status.hpp"

namespace cubind {

RocksLookup look_up(Database& database, const KernelKey& key, const std::vector<Ingredient>& ingredients) {
  auto& db = database.db();
  rocksdb::PinnableSlice bytes;
  auto status = db.Get(rocksdb::ReadOptions(), database.column(Column::kernels), to_slice(key), &bytes);
  if (status.IsNotFound()) return {RocksLookup::Outcome::miss, {}, {}};
  if (!status.ok()) {
    const bool gone = to_error(status, "").code == ErrorCode::corruption;
    return {gone ? RocksLookup::Outcome::bad_record : RocksLookup::Outcome::trouble, {}, {}};
  }
  auto decoded = decode_record(to_view(bytes));
  if (!decoded) return {RocksLookup::Outcome::bad_record, {}, {}};
  auto record = std::move(decoded).value();
  if (record.key != key || (!ingredients.empty() && record.ingredients != ingredients)) {
    return {RocksLookup::Outcome::bad_record, {}, std::move(record)};
  }

  bytes.Reset();
  status = db.Get(rocksdb::ReadOptions(), database.column(Column::blobs), to_slice(record.cubin_digest), &bytes);
  if (!status.ok() && !status.IsNotFound() && to_error(status, "").code != ErrorCode::corruption) {
    return {RocksLookup::Outcome::trouble, {}, std::move(record)};
  }
  const auto cubin = to_view(bytes);
  if (!status.ok() || cubin.size() != record.cubin_bytes || sha256(cubin) != record.cubin_digest) {
    return {RocksLookup::Outcome::bad_blob, {}, std::move(record)};
  }
  Artifact artifact;
  artifact.key = key;
  artifact.info = record.info;
  artifact.cubin_digest = record.cubin_digest;
  artifact.cubin = std::make_shared<const Bytes>(cubin.begin(), cubin.end());
  return {RocksLookup::Outcome::hit, std::move(artifact), std::move(record)};
}

}  // namespace cubind
