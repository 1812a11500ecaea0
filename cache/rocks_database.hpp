// An open RocksDB with the store's column families and options. Included by rocks_*.cpp only.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/result.hpp"

namespace cubind {

enum class Column : std::size_t {
  meta,      // RocksDB's default: totals, toolchains, and `owner` entries, which say who names a cubin
  kernels,   // kernel key -> record
  blobs,     // cubin digest -> cubin, in blob files
  usage,     // kernel key -> UsageEntry
  failures,  // kernel key -> StoredFailure
  tuning,    // measured configs
  trace,     // what was asked for
};
inline constexpr std::size_t kColumnCount = 7;

// Remembers the latest error that RocksDB latched in the background, where no call of ours would see it.
class BackgroundErrors final : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* status) override;
  std::optional<Error> latched() const;
  void reset();

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

class Database {
 public:
  // Makes it if absent. What a crash can leave is repaired by RocksDB's log; a damaged log costs the batches that it
  // hurts. Falls back to reading alone where the disk takes nothing. `corruption`: what is there cannot be opened.
  static Result<std::unique_ptr<Database>> open(const std::string& folder);
  // What is there, without writing or locking anything; the folder may be on a read-only disk.
  static Result<std::unique_ptr<Database>> open_read_only(const std::string& folder);
  ~Database();

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* column(Column column) { return handles_[static_cast<std::size_t>(column)]; }
  BackgroundErrors& background_errors() { return *background_errors_; }
  bool read_only() const { return read_only_; }
  bool lost_batches() const { return lost_batches_; }  // totals and owners may not fit the records: recount

  rocksdb::Status flush();  // everything in memory, so that the next open replays nothing

 private:
  Database() = default;

  std::shared_ptr<BackgroundErrors> background_errors_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kColumnCount> handles_{};
  bool read_only_ = false, lost_batches_ = false;
};

inline rocksdb::Slice to_slice(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline rocksdb::Slice to_slice(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}
inline ByteView to_view(const rocksdb::Slice& slice) {
  return {reinterpret_cast<const std::byte*>(slice.data()), slice.size()};
}
// A key of one of the columns that are keyed by digests; zero if it is none.
Digest to_digest(const rocksdb::Slice& slice);

}  // namespace cubind
