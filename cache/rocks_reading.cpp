// Reading: get and its checks, listing, counters. Readers take no writer's lock.
#include <algorithm>
#include <utility>

#include "base/fault_point.hpp"
#include "cache/rocks_lookup.hpp"
#include "cache/rocks_status.hpp"
#include "cache/rocks_store_impl.hpp"

namespace cubind {

Result<std::optional<Artifact>> RocksStore::Impl::get(const KernelKey& key,
                                                      const std::vector<Ingredient>& ingredients) {
  CUBIND_FAULT_POINT("store.get.begin");
  {
    const std::shared_lock database_lock(database_mutex_);
    if (!database_) {
      ++get_failures_;
      return std::optional<Artifact>();
    }
    auto found = look_up(*database_, key, ingredients);
    switch (found.outcome) {
      case RocksLookup::Outcome::hit: note_use(key); return std::move(found.artifact);
      case RocksLookup::Outcome::miss: return std::optional<Artifact>();
      case RocksLookup::Outcome::trouble: ++get_failures_; return std::optional<Artifact>();
      case RocksLookup::Outcome::bad_record:
      case RocksLookup::Outcome::bad_blob: break;
    }
  }
  const std::lock_guard write_lock(write_mutex_);
  const std::shared_lock database_lock(database_mutex_);
  if (!database_) return std::optional<Artifact>();
  return get_again_locked(key, ingredients);
}

// A reader takes no lock, so an eviction or a put may have come between its two reads: only what looks bad to the
// writer is bad.
std::optional<Artifact> RocksStore::Impl::get_again_locked(const KernelKey& key,
                                                           const std::vector<Ingredient>& ingredients) {
  auto found = look_up(*database_, key, ingredients);
  if (found.outcome == RocksLookup::Outcome::hit) {
    note_use(key);
    return std::move(found.artifact);
  }
  if (found.outcome != RocksLookup::Outcome::bad_record && found.outcome != RocksLookup::Outcome::bad_blob)
    return std::nullopt;
  ++corrupt_records_;
  if (database_->read_only()) return std::nullopt;

  if (found.outcome == RocksLookup::Outcome::bad_blob) {  // then it is bad for everybody who names it
    for (const auto& owner : owners_locked(found.record->cubin_digest)) {
      const auto record = read_record(owner);
      if (owner == key || !record || record->cubin_digest != found.record->cubin_digest) continue;
      auto change = begin_locked();
      remove_locked(change, owner);
      if (!commit_locked(change)) return std::nullopt;
    }
  }
  auto change = begin_locked();
  remove_locked(change, key);
  static_cast<void>(commit_locked(change));  // a failure is in the health, and this is a miss either way
  return std::nullopt;
}

// Nothing if there is no good record; `bad` then says whether there is one that is not good.
std::optional<Record> RocksStore::Impl::read_record(const KernelKey& key, bool* bad) {
  rocksdb::PinnableSlice bytes;
  const auto status =
      database_->db().Get(rocksdb::ReadOptions(), database_->column(Column::kernels), to_slice(key), &bytes);
  if (status.ok()) {
    auto record = decode_record(to_view(bytes));
    if (record && record->key == key) return std::move(record).value();
  }
  if (bad != nullptr) *bad = !status.IsNotFound();
  return std::nullopt;
}

void RocksStore::Impl::note_use(const KernelKey& key) {
  const auto now = now_ms();
  const std::lock_guard state_lock(state_mutex_);
  auto& use = unwritten_use_[key];
  use.last_used_ms = std::max(use.last_used_ms, now);
  ++use.hits;
}

// As on disk, with what is not written yet.
UsageEntry RocksStore::Impl::usage_of(const KernelKey& key) {
  UsageEntry usage;
  rocksdb::PinnableSlice bytes;
  if (database_->db().Get(rocksdb::ReadOptions(), database_->column(Column::usage), to_slice(key), &bytes).ok()) {
    if (auto decoded = decode_usage(to_view(bytes))) usage = *decoded;
  }
  const std::lock_guard state_lock(state_mutex_);
  if (const auto use = unwritten_use_.find(key); use != unwritten_use_.end()) {
    usage.last_used_ms = std::max(usage.last_used_ms, use->second.last_used_ms);
    usage.hits += use->second.hits;
  }
  return usage;
}

Result<std::vector<RecordSummary>> RocksStore::Impl::list(const KernelKey& after, std::size_t limit) {
  std::vector<RecordSummary> records;
  const std::shared_lock database_lock(database_mutex_);
  if (!database_) return records;
  const std::unique_ptr<rocksdb::Iterator> entry(
      database_->db().NewIterator(rocksdb::ReadOptions(), database_->column(Column::kernels)));
  for (entry->Seek(to_slice(after)); entry->Valid() && records.size() < limit; entry->Next()) {
    const auto key = to_digest(entry->key());
    if (key == after) continue;
    const auto record = decode_record(to_view(entry->value()));
    if (!record) continue;  // the next get of it removes it
    const auto usage = usage_of(key);
    records.push_back({key, record->info.name, record->info.arch, record->info.toolchain, record->cubin_bytes,
                       record->created_ms, usage.last_used_ms, usage.hits, record->info.compile_ms});
  }
  if (!entry->status().ok()) return to_error(entry->status(), "store list");
  return records;
}

Result<std::optional<std::vector<Ingredient>>> RocksStore::Impl::ingredients(const KernelKey& key) {
  const std::shared_lock database_lock(database_mutex_);
  if (!database_) return std::optional<std::vector<Ingredient>>();
  auto record = read_record(key);
  if (!record) return std::optional<std::vector<Ingredient>>();
  return std::optional(std::move(record->ingredients));
}

StoreStats RocksStore::Impl::stats() const {
  StoreStats stats;
  stats.evictions = evictions_;
  stats.corrupt_records = corrupt_records_;
  stats.put_failures = put_failures_;
  stats.get_failures = get_failures_;
  stats.set_aside = set_aside_;
  const std::lock_guard state_lock(state_mutex_);
  stats.records = totals_.records;
  stats.bytes = totals_.bytes;
  stats.degraded = health_.degraded;
  if (health_.degraded) stats.reason = health_.error.message;
  return stats;
}

Result<std::optional<StoredFailure>> RocksStore::Impl::get_failure(const KernelKey& key) {
  const std::shared_lock database_lock(database_mutex_);
  if (!database_) return std::optional<StoredFailure>();
  rocksdb::PinnableSlice bytes;
  const auto status =
      database_->db().Get(rocksdb::ReadOptions(), database_->column(Column::failures), to_slice(key), &bytes);
  if (!status.ok()) {
    if (!status.IsNotFound()) ++get_failures_;
    return std::optional<StoredFailure>();
  }
  auto failure = decode_failure(to_view(bytes));
  if (!failure || failure->expires_ms <= now_ms()) return std::optional<StoredFailure>();
  return std::optional(std::move(failure).value());
}

std::vector<ToolchainIdentity> RocksStore::Impl::known_toolchains() const {
  const std::lock_guard state_lock(state_mutex_);
  std::vector<ToolchainIdentity> known;
  for (const auto& [id, toolchain] : toolchains_) {
    if (totals_.by_toolchain.contains(id)) known.push_back(toolchain.identity);
  }
  return known;
}

}  // namespace cubind
