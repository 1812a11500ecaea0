#include "cache/rocks_store.hpp"

#include <algorithm>
#include <utility>

#include "base/fault_point.hpp"
#include "cache/rocks_status.hpp"
#include "cache/rocks_store_impl.hpp"

namespace cubind {

namespace {

void take_away(std::uint64_t& from, std::uint64_t amount) {
  from -= std::min(from, amount);
}

std::string_view text(const Digest& digest) {
  return as_text(std::as_bytes(std::span(digest.bytes)));
}

}  // namespace

std::string owner_key(const Digest& cubin, const KernelKey& key) {
  std::string out(kOwnerPrefix);
  out += text(cubin);
  out += text(key);
  return out;
}

RocksStore::Impl::Change RocksStore::Impl::begin_locked() const {
  Change change;
  const std::lock_guard state_lock(state_mutex_);
  change.totals = totals_;
  return change;
}

Status RocksStore::Impl::commit_locked(Change& change) {
  auto* meta = database_->column(Column::meta);
  change.batch.Put(meta, to_slice(as_bytes(kTotalsKey)), to_slice(encode_totals(change.totals)));
  std::vector<std::string> new_toolchains;
  {
    const std::lock_guard state_lock(state_mutex_);
    for (const auto& [id, toolchain] : toolchains_) {
      if (toolchain.stored) continue;
      change.batch.Put(meta, std::string(kToolchainPrefix) + id, to_slice(encode_toolchain(toolchain.identity)));
      new_toolchains.push_back(id);
    }
  }
  if (const auto status = database_->db().Write(rocksdb::WriteOptions(), &change.batch); !status.ok()) {
    return write_failed(to_error(status, "store write"));
  }
  const std::lock_guard state_lock(state_mutex_);
  totals_ = std::move(change.totals);
  for (const auto& id : new_toolchains) toolchains_[id].stored = true;
  return {};
}

std::vector<KernelKey> RocksStore::Impl::owners_locked(const Digest& cubin) {
  const auto prefix = owner_key(cubin, {}).substr(0, kOwnerPrefix.size() + 32);
  std::vector<KernelKey> owners;
  const std::unique_ptr<rocksdb::Iterator> entry(
      database_->db().NewIterator(rocksdb::ReadOptions(), database_->column(Column::meta)));
  for (entry->Seek(prefix); entry->Valid() && entry->key().starts_with(prefix); entry->Next()) {
    auto key = entry->key();
    key.remove_prefix(prefix.size());
    owners.push_back(to_digest(key));
  }
  if (!entry->status().ok()) {  // better a cubin that nobody names than a name without its cubin
    owners.emplace_back();
    recount_due_ = true;
  }
  return owners;
}

void RocksStore::Impl::remove_locked(Change& change, const KernelKey& key) {
  change.batch.Delete(database_->column(Column::kernels), to_slice(key));
  change.batch.Delete(database_->column(Column::usage), to_slice(key));
  {
    const std::lock_guard state_lock(state_mutex_);
    unwritten_use_.erase(key);
  }
  bool bad = false;
  const auto record = read_record(key, &bad);
  if (bad) recount_due_ = true;  // which cubin it names and what it was in the totals cannot be known
  if (!record) return;
  change.batch.Delete(database_->column(Column::meta), owner_key(record->cubin_digest, key));
  const auto owners = owners_locked(record->cubin_digest);
  if (std::all_of(owners.begin(), owners.end(), [&](const auto& owner) { return owner == key; })) {
    change.batch.Delete(database_->column(Column::blobs), to_slice(record->cubin_digest));
    take_away(change.totals.bytes, record->cubin_bytes);
  }
  take_away(change.totals.records, 1);
  if (const auto made_by = change.totals.by_toolchain.find(record->info.toolchain);
      made_by != change.totals.by_toolchain.end()) {
    take_away(made_by->second, 1);
    if (made_by->second == 0) change.totals.by_toolchain.erase(made_by);
  }
}

Status RocksStore::Impl::put(const Artifact& artifact, const std::vector<Ingredient>& ingredients,
                             std::uint32_t owner) {
  if (!artifact.cubin || artifact.cubin->empty() || artifact.cubin->size() > limits::kMaxCubinBytes) {
    const auto size = artifact.cubin ? artifact.cubin->size() : 0;
    return Error{ErrorCode::invalid_argument, "cubin of \"" + std::to_string(size) + "\" bytes is not within 1 to " +
                                                  std::to_string(limits::kMaxCubinBytes)};
  }
  if (sha256(*artifact.cubin) != artifact.cubin_digest) {
    return Error{ErrorCode::invalid_argument, "cubin of key \"" + artifact.key.hex() + "\" does not have its digest"};
  }
  if (artifact.cubin->size() > limit_bytes()) {
    ++put_failures_;
    return Error{ErrorCode::resource_exhausted,
                 "cubin of \"" + std::to_string(artifact.cubin->size()) + "\" bytes is larger than the store may be"};
  }
  const Record record{artifact.key,
                      artifact.cubin_digest,
                      static_cast<std::uint32_t>(artifact.cubin->size()),
                      now_ms(),
                      artifact.info,
                      ingredients,
                      {}};
  CUBIND_TRY(const auto encoded, encode_record(record));

  const std::lock_guard write_lock(write_mutex_);
  CUBIND_FAULT_POINT("store.put.begin");
  auto status = ready_to_write_locked();
  if (status) {
    const std::shared_lock database_lock(database_mutex_);
    status = put_locked(artifact, record, encoded, owner);
  }
  if (!status) ++put_failures_;
  return status;
}

Status RocksStore::Impl::put_locked(const Artifact& artifact, const Record& record, ByteView encoded,
                                    std::uint32_t owner) {
  CUBIND_CHECK(evict_locked(artifact.cubin->size()));
  auto change = begin_locked();
  const auto& key = artifact.key;
  // What was there under this key goes in the same batch. Later entries of a batch win, so a cubin that both name
  // stays.
  remove_locked(change, key);
  const auto owners = owners_locked(record.cubin_digest);
  if (std::all_of(owners.begin(), owners.end(), [&](const auto& other) { return other == key; })) {
    change.totals.bytes += record.cubin_bytes;
  }
  ++change.totals.records;
  ++change.totals.by_toolchain[record.info.toolchain];

  auto& batch = change.batch;
  batch.Put(database_->column(Column::kernels), to_slice(key), to_slice(encoded));
  // Written even if somebody names it already: it may have gone bad on disk.
  batch.Put(database_->column(Column::blobs), to_slice(record.cubin_digest), to_slice(*artifact.cubin));
  batch.Put(database_->column(Column::meta), owner_key(record.cubin_digest, key), rocksdb::Slice());
  batch.Put(database_->column(Column::usage), to_slice(key),
            to_slice(encode_usage({record.created_ms, 0, record.cubin_bytes, owner})));
  batch.Delete(database_->column(Column::failures), to_slice(key));

  CUBIND_FAULT_POINT("store.put.before_write");
  if (CUBIND_FAULT_FAILS("store.put.enospc")) {
    return write_failed(to_error(rocksdb::Status::NoSpace(), "store write"));
  }
  CUBIND_CHECK(commit_locked(change));
  CUBIND_FAULT_POINT("store.put.after_write");
  bytes_since_flush_ += record.cubin_bytes;
  last_write_ms_ = record.created_ms;
  return {};
}

Result<std::uint64_t> RocksStore::Impl::erase(const KernelKey& key) {
  const std::lock_guard write_lock(write_mutex_);
  CUBIND_CHECK(ready_to_write_locked());
  const std::shared_lock database_lock(database_mutex_);
  auto change = begin_locked();
  const auto before = change.totals.bytes;
  remove_locked(change, key);
  const auto freed = before - change.totals.bytes;
  CUBIND_CHECK(commit_locked(change));
  if (freed != 0) compaction_due_ = true;
  return freed;
}

Result<PurgeCount> RocksStore::Impl::erase_all() {
  const std::lock_guard write_lock(write_mutex_);
  CUBIND_CHECK(ready_to_write_locked());
  const std::shared_lock database_lock(database_mutex_);
  auto change = begin_locked();
  const PurgeCount count{change.totals.records, change.totals.bytes};
  const std::string after_all(33, '\xff');  // keys are 32 bytes
  for (const auto column : {Column::kernels, Column::blobs, Column::usage, Column::failures}) {
    change.batch.DeleteRange(database_->column(column), rocksdb::Slice(), after_all);
  }
  change.batch.DeleteRange(database_->column(Column::meta), std::string(kOwnerPrefix),
                           std::string(kOwnerPrefix) + after_all);
  change.totals = {};
  CUBIND_CHECK(commit_locked(change));
  {
    const std::lock_guard state_lock(state_mutex_);
    unwritten_use_.clear();
  }
  recount_due_ = false;
  compaction_due_ = true;
  return count;
}

Status RocksStore::Impl::put_failure(const KernelKey& key, const StoredFailure& failure) {
  const std::lock_guard write_lock(write_mutex_);
  CUBIND_CHECK(ready_to_write_locked());
  const std::shared_lock database_lock(database_mutex_);
  auto change = begin_locked();
  change.batch.Put(database_->column(Column::failures), to_slice(key), to_slice(encode_failure(failure)));
  return commit_locked(change);
}

Status RocksStore::Impl::remember_toolchain(const ToolchainIdentity& toolchain) {
  const std::lock_guard write_lock(write_mutex_);
  {
    const std::lock_guard state_lock(state_mutex_);
    auto& known = toolchains_[toolchain.id];
    if (known.identity == toolchain && known.stored) return {};
    known = {toolchain, false};  // written with whatever is written next
  }
  CUBIND_CHECK(ready_to_write_locked());
  const std::shared_lock database_lock(database_mutex_);
  auto change = begin_locked();
  return commit_locked(change);
}

// ---- RocksStore

RocksStore::RocksStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksStore::~RocksStore() = default;

Result<std::unique_ptr<RocksStore>> RocksStore::open(RocksStoreOptions options) {
  if (!(options.low_ratio > 0 && options.low_ratio <= 1)) {
    return Error{ErrorCode::invalid_argument,
                 "store low_ratio \"" + std::to_string(options.low_ratio) + "\" is not within 0 to 1"};
  }
  CUBIND_TRY(auto root, StoreRoot::claim(options.root, options.allow_any_filesystem));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(root));
  impl->start();
  return std::unique_ptr<RocksStore>(new RocksStore(std::move(impl)));
}

Result<std::optional<Artifact>> RocksStore::get(const KernelKey& key, const std::vector<Ingredient>& ingredients) {
  return impl_->get(key, ingredients);
}
Status RocksStore::put_as(const Artifact& artifact, const std::vector<Ingredient>& ingredients, std::uint32_t owner) {
  return impl_->put(artifact, ingredients, owner);
}
Result<std::uint64_t> RocksStore::erase(const KernelKey& key) {
  return impl_->erase(key);
}
Result<PurgeCount> RocksStore::erase_all() {
  return impl_->erase_all();
}
Result<std::vector<RecordSummary>> RocksStore::list(const KernelKey& after, std::size_t limit) {
  return impl_->list(after, limit);
}
Result<std::optional<std::vector<Ingredient>>> RocksStore::ingredients(const KernelKey& key) {
  return impl_->ingredients(key);
}
void RocksStore::set_max_bytes(std::uint64_t bytes) {
  impl_->set_max_bytes(bytes);
}
void RocksStore::touch(const KernelKey& key) {
  impl_->note_use(key);
}
StoreStats RocksStore::stats() const {
  return impl_->stats();
}
Status RocksStore::put_failure(const KernelKey& key, const StoredFailure& failure) {
  return impl_->put_failure(key, failure);
}
Result<std::optional<StoredFailure>> RocksStore::get_failure(const KernelKey& key) {
  return impl_->get_failure(key);
}
Status RocksStore::remember_toolchain(const ToolchainIdentity& toolchain) {
  return impl_->remember_toolchain(toolchain);
}
std::vector<ToolchainIdentity> RocksStore::known_toolchains() const {
  return impl_->known_toolchains();
}
Status RocksStore::tick() {
  return impl_->tick();
}
Status RocksStore::flush_usage() {
  return impl_->flush_usage();
}
Status RocksStore::try_recover() {
  return impl_->try_recover();
}
std::string RocksStore::folder() const {
  return impl_->folder();
}

}  // namespace cubind
