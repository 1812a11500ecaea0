// Eviction, and what tick() does: usage counts, expired failures, other schemas' folders, space given back.
#include <algorithm>
#include <utility>

#include "base/fault_point.hpp"
#include "cache/eviction.hpp"
#include "cache/rocks_status.hpp"
#include "cache/rocks_store_impl.hpp"

namespace cubind {

namespace {

constexpr std::uint64_t kSweepMs = 3'600'000;  // expired failures and old folders are looked at so often
constexpr std::uint64_t kDayMs = 86'400'000;
constexpr std::uint64_t kFlushWhenIdleBytes = 4 << 20;  // written since the last flush; less replays in no time
constexpr std::size_t kUsageBatch = 1024;

}  // namespace

// ---- eviction

// What this schema's cubins may take. Other schemas' folders count, but never squeeze this one below half: they go by
// age, and until then a store that keeps nothing would be worse than one that is half too large.
std::uint64_t RocksStore::Impl::limit_bytes() const {
  const auto most = max_bytes_.load();
  return most - std::min(other_folders_bytes_.load(), most / 2);
}

Status RocksStore::Impl::evict_locked(std::uint64_t coming_bytes) {
  const auto limit = limit_bytes();
  const auto target = static_cast<std::uint64_t>(static_cast<double>(limit) * options_.low_ratio);
  auto bytes = begin_locked().totals.bytes;
  if (bytes + coming_bytes <= limit) return {};
  // More than once only where victims shared their cubins with records that stay.
  while (bytes + coming_bytes > target) {
    const auto keep = target - std::min(target, coming_bytes);
    CUBIND_TRY(const auto evicted, evict_once_locked(bytes - std::min(bytes, keep), keep));
    if (evicted == 0) break;
    compaction_due_ = true;
    bytes = begin_locked().totals.bytes;
  }
  return {};
}

Result<std::uint64_t> RocksStore::Impl::evict_once_locked(std::uint64_t bytes_to_free, std::uint64_t target) {
  std::vector<EvictionCandidate> candidates;
  {
    const std::unique_ptr<rocksdb::Iterator> entry(
        database_->db().NewIterator(rocksdb::ReadOptions(), database_->column(Column::usage)));
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
      auto usage = decode_usage(to_view(entry->value()));
      candidates.push_back({to_digest(entry->key()), usage ? *usage : UsageEntry{}});
    }
    if (!entry->status().ok()) return write_failed(to_error(entry->status(), "store eviction"));
  }
  {
    const std::lock_guard state_lock(state_mutex_);
    for (auto& [key, usage] : candidates) {
      const auto use = unwritten_use_.find(key);
      if (use == unwritten_use_.end()) continue;
      usage.last_used_ms = std::max(usage.last_used_ms, use->second.last_used_ms);
      usage.hits += use->second.hits;
    }
  }
  std::uint64_t evicted = 0;
  const auto share = fair_share(candidates, target);
  for (const auto& key : plan_eviction(std::move(candidates), bytes_to_free, share, now_ms())) {
    auto change = begin_locked();
    if (change.totals.bytes <= target) break;
    remove_locked(change, key);
    CUBIND_FAULT_POINT("store.evict.before_write");
    CUBIND_CHECK(commit_locked(change));
    CUBIND_FAULT_POINT("store.evict.after_write");
    ++evicted;
    ++evictions_;
  }
  return evicted;
}

// ---- periodic work

Status RocksStore::Impl::tick() {
  auto status = flush_usage();
  if (status) {
    const std::lock_guard write_lock(write_mutex_);
    status = ready_to_write_locked();
    if (status) {
      const std::shared_lock database_lock(database_mutex_);
      const auto now = now_ms();
      if (recount_due_) status = recount_locked();
      if (now >= next_sweep_ms_) {
        next_sweep_ms_ = now + kSweepMs;
        look_after_other_folders();
        if (status) status = drop_expired_failures_locked();
      }
      if (status) status = evict_locked(0);  // the limit may have come down
      // A burst is over: flush it, so that the next start has nothing to replay even after a crash.
      if (status && bytes_since_flush_ > kFlushWhenIdleBytes &&
          now >= last_write_ms_ + std::chrono::milliseconds(limits::kUsageFlush).count()) {
        if (database_->flush().ok()) bytes_since_flush_ = 0;
      }
    }
  }
  if (status) compact();
  return status;
}

Status RocksStore::Impl::flush_usage() {
  {
    const std::lock_guard state_lock(state_mutex_);
    if (unwritten_use_.empty()) return {};
  }
  const std::lock_guard write_lock(write_mutex_);
  CUBIND_CHECK(ready_to_write_locked());
  const std::shared_lock database_lock(database_mutex_);
  return flush_usage_locked();
}

Status RocksStore::Impl::flush_usage_locked() {
  std::vector<KernelKey> keys;
  {
    const std::lock_guard state_lock(state_mutex_);
    for (const auto& [key, use] : unwritten_use_) keys.push_back(key);
  }
  auto* column = database_->column(Column::usage);
  for (std::size_t first = 0; first < keys.size(); first += kUsageBatch) {
    const auto last = std::min(first + kUsageBatch, keys.size());
    auto change = begin_locked();
    std::unordered_map<KernelKey, Use, DigestHash> written;
    for (std::size_t i = first; i < last; ++i) {
      std::string bytes;
      const bool there = database_->db().Get(rocksdb::ReadOptions(), column, to_slice(keys[i]), &bytes).ok();
      auto stored = decode_usage(as_bytes(bytes));
      auto usage = there && stored ? *stored : UsageEntry{};
      const std::lock_guard state_lock(state_mutex_);
      const auto use = unwritten_use_.find(keys[i]);
      if (use == unwritten_use_.end()) continue;
      written[keys[i]] = use->second;  // also if the record is gone: then the use goes too
      if (!there) continue;
      usage.last_used_ms = std::max(usage.last_used_ms, use->second.last_used_ms);
      usage.hits += use->second.hits;
      change.batch.Put(column, to_slice(keys[i]), to_slice(encode_usage(usage)));
    }
    CUBIND_FAULT_POINT("store.usage.flush");
    CUBIND_CHECK(commit_locked(change));
    const std::lock_guard state_lock(state_mutex_);
    for (const auto& [key, use] : written) {  // a hit may have come meanwhile
      const auto left = unwritten_use_.find(key);
      if (left == unwritten_use_.end()) continue;
      left->second.hits -= std::min(left->second.hits, use.hits);
      if (left->second.hits == 0) unwritten_use_.erase(left);
    }
  }
  return {};
}

Status RocksStore::Impl::drop_expired_failures_locked() {
  auto change = begin_locked();
  auto* column = database_->column(Column::failures);
  const auto now = now_ms();
  const std::unique_ptr<rocksdb::Iterator> entry(database_->db().NewIterator(rocksdb::ReadOptions(), column));
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    const auto failure = decode_failure(to_view(entry->value()));
    if (!failure || failure->expires_ms <= now) change.batch.Delete(column, entry->key());
  }
  if (!entry->status().ok()) return write_failed(to_error(entry->status(), "store failures"));
  return commit_locked(change);
}

// After damage that left totals or owners in doubt: makes them, and usage, follow from the records again.
Status RocksStore::Impl::recount_locked() {
  auto& db = database_->db();
  auto* kernels = database_->column(Column::kernels);
  auto* meta = database_->column(Column::meta);
  auto* usage = database_->column(Column::usage);
  Change change;
  std::unordered_map<Digest, std::uint32_t, DigestHash> cubins;  // named by some record
  const std::unique_ptr<rocksdb::Iterator> entry(db.NewIterator(rocksdb::ReadOptions(), kernels));
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    const auto key = to_digest(entry->key());
    const auto record = decode_record(to_view(entry->value()));
    if (!record || record->key != key) {
      ++corrupt_records_;
      change.batch.Delete(kernels, entry->key());
      change.batch.Delete(usage, entry->key());
      continue;
    }
    cubins.emplace(record->cubin_digest, record->cubin_bytes);
    ++change.totals.records;
    ++change.totals.by_toolchain[record->info.toolchain];
    change.batch.Put(meta, owner_key(record->cubin_digest, key), rocksdb::Slice());
    std::string bytes;
    if (!db.Get(rocksdb::ReadOptions(), usage, entry->key(), &bytes).ok() || !decode_usage(as_bytes(bytes))) {
      const auto made = encode_usage({record->created_ms, 0, record->cubin_bytes, kNoOwner});
      change.batch.Put(usage, entry->key(), to_slice(made));
    }
  }
  if (!entry->status().ok()) return write_failed(to_error(entry->status(), "store recount"));
  for (const auto& [digest, bytes] : cubins) change.totals.bytes += bytes;

  const std::string prefix(kOwnerPrefix);
  const std::unique_ptr<rocksdb::Iterator> owner(db.NewIterator(rocksdb::ReadOptions(), meta));
  for (owner->Seek(prefix); owner->Valid() && owner->key().starts_with(prefix); owner->Next()) {
    auto rest = owner->key();
    rest.remove_prefix(prefix.size());
    const auto cubin = to_digest({rest.data(), std::min<std::size_t>(rest.size(), 32)});
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 32));
    const auto record = read_record(to_digest(rest));
    if (record && record->cubin_digest == cubin) continue;
    change.batch.Delete(meta, owner->key());
    if (!cubins.contains(cubin)) change.batch.Delete(database_->column(Column::blobs), to_slice(cubin));
  }
  if (!owner->status().ok()) return write_failed(to_error(owner->status(), "store recount"));
  CUBIND_CHECK(commit_locked(change));
  recount_due_ = false;
  return {};
}

void RocksStore::Impl::look_after_other_folders() {
  std::uint64_t bytes = 0;
  const auto now = clock_->wall_now();
  const auto longest = std::chrono::milliseconds(std::uint64_t{options_.old_store_days} * kDayMs);
  for (const auto& folder : find_other_folders(options_.root, folder_)) {
    const bool old = options_.old_store_days != 0 && now - folder.last_written > longest;
    if (!old || !remove_folder(folder.path)) bytes += folder.bytes;
  }
  other_folders_bytes_ = bytes;
}

// Blob files give space back only when a compaction moves what is still alive out of them. Off the write lock: it reads
// and writes the whole store once for each tenth of it that was evicted.
void RocksStore::Impl::compact() {
  if (!compaction_due_.exchange(false)) return;
  const std::shared_lock database_lock(database_mutex_);
  if (!database_ || database_->read_only()) return;
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  const auto status = database_->db().CompactRange(options, database_->column(Column::blobs), nullptr, nullptr);
  if (!status.ok() && !status.IsIncomplete()) static_cast<void>(write_failed(to_error(status, "store compaction")));
  if (!status.ok()) compaction_due_ = true;
}

}  // namespace cubind
