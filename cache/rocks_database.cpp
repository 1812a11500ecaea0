#include "cache/rocks_database.hpp"

#include <cstdarg>
#include <cstring>
#include <utility>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "cache/rocks_status.hpp"

namespace cubind {

namespace {

constexpr std::array<const char*, kColumnCount> kColumnNames = {"default",  "kernels", "blobs", "usage",
                                                                "failures", "tuning",  "trace"};
constexpr std::size_t kWriteBufferBytes = 64 << 20;  // over all columns; also what an open after a crash replays
constexpr std::size_t kBlockCacheBytes = 16 << 20;   // keys and records; cubins are cached by the memory store
constexpr std::size_t kMinBlobBytes = 4 << 10;       // smaller values stay in the tables
constexpr std::size_t kBlobFileBytes = 32 << 20;     // small, so that a file of evicted cubins goes as a whole

// RocksDB's own log file, in builds with assertions (Debian's), aborts the process when a full disk takes no more of
// it. What matters comes back as a status.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::DBOptions database_options(const std::shared_ptr<BackgroundErrors>& listener) {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.db_write_buffer_size = kWriteBufferBytes;
  options.max_total_wal_size = kWriteBufferBytes;
  options.max_background_jobs = 2;
  options.max_open_files = 256;
  options.max_file_opening_threads = 1;
  options.bytes_per_sync = 1 << 20;  // spreads write-back, or a flush makes the disk stall everybody
  options.info_log = std::make_shared<NoLog>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;  // reads every table's properties otherwise
  options.max_bgerror_resume_count = 0;         // we decide when to try again (rocks_health.cpp)
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.listeners.push_back(listener);
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> columns() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  const std::shared_ptr<rocksdb::TableFactory> factory(rocksdb::NewBlockBasedTableFactory(table));

  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const auto* name : kColumnNames) {
    rocksdb::ColumnFamilyOptions options;
    options.table_factory = factory;
    options.compression = rocksdb::kLZ4Compression;
    options.write_buffer_size = kWriteBufferBytes / 8;
    if (std::strcmp(name, "blobs") == 0) {
      options.write_buffer_size = kWriteBufferBytes / 2;
      options.enable_blob_files = true;
      options.min_blob_size = kMinBlobBytes;
      options.blob_file_size = kBlobFileBytes;
      // A cubin is written once and read rarely (the memory store is in front): zstd takes a third less than LZ4.
      options.blob_compression_type = rocksdb::kZSTD;
      options.compression = rocksdb::kZSTD;
      options.enable_blob_garbage_collection = true;
      options.blob_garbage_collection_age_cutoff = 1.0;  // old files too: the hottest kernels are often the oldest
    }
    descriptors.emplace_back(name, options);
  }
  return descriptors;
}

}  // namespace

void BackgroundErrors::OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) {
  const std::lock_guard lock(mutex_);
  error_ = to_error(*status, "store background write");
}

std::optional<Error> BackgroundErrors::latched() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void BackgroundErrors::reset() {
  const std::lock_guard lock(mutex_);
  error_.reset();
}

Result<std::unique_ptr<Database>> Database::open(const std::string& folder) {
  std::unique_ptr<Database> database(new Database);
  database->background_errors_ = std::make_shared<BackgroundErrors>();
  auto options = database_options(database->background_errors_);
  const auto descriptors = columns();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;

  auto status = rocksdb::DB::Open(options, folder, descriptors, &handles, &db);
  if (status.IsCorruption()) {
    // Column families that were flushed past a hole in the log; each batch is whole or absent all the same.
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    status = rocksdb::DB::Open(options, folder, descriptors, &handles, &db);
    database->lost_batches_ = status.ok();
  }
  if (status.IsIOError()) {
    const auto reading = rocksdb::DB::OpenForReadOnly(options, folder, descriptors, &handles, &db);
    database->read_only_ = reading.ok();
    if (reading.ok()) status = reading;
  }
  if (!status.ok()) {
    auto error = to_error(status, "store open");
    // Not a database of ours: other column families, another comparator, a format from the future.
    if (status.IsInvalidArgument() || status.IsNotSupported()) error.code = ErrorCode::corruption;
    return error;
  }
  database->db_.reset(db);
  std::copy(handles.begin(), handles.end(), database->handles_.begin());
  return database;
}

Result<std::unique_ptr<Database>> Database::open_read_only(const std::string& folder) {
  std::unique_ptr<Database> database(new Database);
  database->background_errors_ = std::make_shared<BackgroundErrors>();
  database->read_only_ = true;
  auto options = database_options(database->background_errors_);
  options.create_if_missing = options.create_missing_column_families = false;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::OpenForReadOnly(options, folder, columns(), &handles, &db);
  if (!status.ok()) return to_error(status, "store open");
  database->db_.reset(db);
  std::copy(handles.begin(), handles.end(), database->handles_.begin());
  return database;
}

Database::~Database() {
  if (!db_) return;
  for (auto* handle : handles_) {
    if (handle != nullptr) db_->DestroyColumnFamilyHandle(handle);
  }
  db_->Close();
}

rocksdb::Status Database::flush() {
  return db_->Flush(rocksdb::FlushOptions(), {handles_.begin(), handles_.end()});
}

Digest to_digest(const rocksdb::Slice& slice) {
  Digest digest;
  if (slice.size() == digest.bytes.size()) std::memcpy(digest.bytes.data(), slice.data(), slice.size());
  return digest;
}

}  // namespace cubind
