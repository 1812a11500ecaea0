// RocksStore's inside. Included by rocks_*.cpp only: rocks_store.cpp has what changes records, rocks_reading.cpp what
// reads them, rocks_health.cpp opening and recovery, rocks_upkeep.cpp eviction and the periodic work.
//
// Locks, in this order:
//   write_mutex_     one writer: whoever changes the database, so that a change sees what it changes
//   database_mutex_  shared by all who use database_, exclusive for who replaces it
//   state_mutex_     totals, health, toolchains, unwritten usage; held for memory accesses only
// Methods that end in _locked want write_mutex_ held, and database_mutex_ shared unless they say otherwise.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <rocksdb/write_batch.h>

#include "cache/record.hpp"
#include "cache/rocks_database.hpp"
#include "cache/rocks_store.hpp"
#include "cache/side_records.hpp"
#include "cache/store_root.hpp"

namespace cubind {

class RocksStore::Impl {
 public:
  Impl(RocksStoreOptions options, StoreRoot root);
  ~Impl();

  void start();  // the first open

  Result<std::optional<Artifact>> get(const KernelKey& key, const std::vector<Ingredient>& ingredients);
  Status put(const Artifact& artifact, const std::vector<Ingredient>& ingredients, std::uint32_t owner);
  Result<std::uint64_t> erase(const KernelKey& key);
  Result<PurgeCount> erase_all();
  Result<std::vector<RecordSummary>> list(const KernelKey& after, std::size_t limit);
  Result<std::optional<std::vector<Ingredient>>> ingredients(const KernelKey& key);
  void note_use(const KernelKey& key);
  StoreStats stats() const;
  Status put_failure(const KernelKey& key, const StoredFailure& failure);
  Result<std::optional<StoredFailure>> get_failure(const KernelKey& key);
  Status remember_toolchain(const ToolchainIdentity& toolchain);
  std::vector<ToolchainIdentity> known_toolchains() const;
  Status tick();
  Status flush_usage();
  Status try_recover();
  void set_max_bytes(std::uint64_t bytes) { max_bytes_ = bytes; }
  const std::string& folder() const { return folder_; }

 private:
  // One atomic step: what it does to the database and the totals that are true afterwards.
  struct Change {
    rocksdb::WriteBatch batch;
    StoreTotals totals;
  };
  struct Use {
    std::uint64_t last_used_ms = 0, hits = 0;
  };
  struct Health {
    bool degraded = false;
    Error error;
    SteadyTime next_try{};
    std::chrono::milliseconds pause{};
  };
  struct RememberedToolchain {
    ToolchainIdentity identity;
    bool stored = false;
  };

  // rocks_reading.cpp
  std::optional<Record> read_record(const KernelKey& key, bool* bad = nullptr);
  std::optional<Artifact> get_again_locked(const KernelKey& key, const std::vector<Ingredient>& ingredients);
  UsageEntry usage_of(const KernelKey& key);

  // rocks_store.cpp
  Change begin_locked() const;
  Status commit_locked(Change& change);
  void remove_locked(Change& change, const KernelKey& key);
  std::vector<KernelKey> owners_locked(const Digest& cubin);
  Status put_locked(const Artifact& artifact, const Record& record, ByteView encoded, std::uint32_t owner);

  // rocks_health.cpp
  Status open_database_locked();   // wants database_mutex_ exclusively
  void close_database_locked();    // likewise
  void load_state_locked();        // likewise
  Status ready_to_write_locked();  // recovers first if it is time to try; wants database_mutex_ not held
  Status recover_locked();         // likewise
  Status probe();                  // can the database be written?
  bool files_are_there() const;
  Error write_failed(const Error& error);
  void healed();
  std::uint64_t now_ms() const { return unix_ms(clock_->wall_now()); }

  // rocks_upkeep.cpp
  std::uint64_t limit_bytes() const;
  Status evict_locked(std::uint64_t coming_bytes);
  Result<std::uint64_t> evict_once_locked(std::uint64_t bytes_to_free, std::uint64_t target);
  Status flush_usage_locked();
  Status drop_expired_failures_locked();
  Status recount_locked();
  void look_after_other_folders();
  void compact();

  const RocksStoreOptions options_;
  std::optional<StoreRoot> root_;  // none: gone, and not to be had again yet; belongs to write_mutex_
  const std::string folder_;
  const Clock* const clock_;

  std::mutex write_mutex_;
  bool recount_due_ = false;
  std::uint64_t bytes_since_flush_ = 0, last_write_ms_ = 0, next_sweep_ms_ = 0;
  int corruptions_latched_ = 0;

  std::shared_mutex database_mutex_;
  std::unique_ptr<Database> database_;  // null: it could not be opened

  mutable std::mutex state_mutex_;
  StoreTotals totals_;
  Health health_;
  std::map<std::string, RememberedToolchain> toolchains_;
  std::unordered_map<KernelKey, Use, DigestHash> unwritten_use_;

  std::atomic<std::uint64_t> max_bytes_;
  std::atomic<bool> compaction_due_{false};
  std::atomic<std::uint64_t> other_folders_bytes_{0};
  std::atomic<std::uint64_t> evictions_{0}, corrupt_records_{0}, put_failures_{0}, get_failures_{0}, set_aside_{0};
};

// Keys of Column::meta.
inline constexpr std::string_view kTotalsKey = "totals";
inline constexpr std::string_view kProbeKey = "probe";
inline constexpr std::string_view kToolchainPrefix = "toolchain/";
inline constexpr std::string_view kOwnerPrefix = "owner/";  // then the cubin's digest and the kernel key, 32 bytes each

std::string owner_key(const Digest& cubin, const KernelKey& key);

}  // namespace cubind
