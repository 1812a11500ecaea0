// Opening, and coming back after trouble with the disk. RocksDB latches an error and refuses every write from then on;
// how it is left depends on what failed, so recovery tries the mild way first: Resume, then close and open, then (only
// for damage that came back) set the database aside and begin a new one. Losing a cache costs compiles, nothing else.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/fault_point.hpp"
#include "cache/rocks_status.hpp"
#include "cache/rocks_store_impl.hpp"

namespace cubind {

namespace {

constexpr std::uint64_t kMinFreeBytes = 4 << 20;  // less than this is a full disk: no use in trying
constexpr int kCorruptionsBeforeSetAside = 2;     // the first may have been a bad read

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace

RocksStore::Impl::Impl(RocksStoreOptions options, StoreRoot root)
    : options_(std::move(options)),
      root_(std::move(root)),
      folder_(options_.root + "/v" + std::to_string(kRecordSchema)),
      clock_(options_.clock != nullptr ? options_.clock : &system_clock()),
      max_bytes_(options_.max_bytes) {}

RocksStore::Impl::~Impl() {
  static_cast<void>(flush_usage());
  const std::lock_guard write_lock(write_mutex_);
  const std::unique_lock database_lock(database_mutex_);
  CUBIND_FAULT_POINT("store.close.begin");
  if (database_ && !database_->read_only() && !stats().degraded) database_->flush();
  CUBIND_FAULT_POINT("store.close.flushed");
  close_database_locked();
}

void RocksStore::Impl::start() {
  look_after_other_folders();
  const std::lock_guard write_lock(write_mutex_);
  const std::unique_lock database_lock(database_mutex_);
  if (const auto opened = open_database_locked(); !opened) static_cast<void>(write_failed(opened.error()));
}

Status RocksStore::Impl::open_database_locked() {
  const auto open = [this] {
    if (::mkdir(folder_.c_str(), 0700) == 0) static_cast<void>(::chmod(folder_.c_str(), 0700));
    return Database::open(folder_);
  };
  auto opened = open();
  if (!opened && opened.error().code == ErrorCode::corruption) {
    CUBIND_CHECK(set_folder_aside(folder_));
    ++set_aside_;
    opened = open();
  }
  if (!opened) return std::move(opened).error();
  database_ = std::move(opened).value();
  load_state_locked();
  if (database_->read_only()) {
    return Error{ErrorCode::unavailable, "store folder \"" + folder_ + "\" takes no writes; it is read as it is"};
  }
  return {};
}

void RocksStore::Impl::close_database_locked() {
  database_.reset();
}

// Totals and toolchains: a few hundred bytes, however many records there are.
void RocksStore::Impl::load_state_locked() {
  auto& db = database_->db();
  auto* meta = database_->column(Column::meta);
  StoreTotals totals;
  std::string bytes;
  const auto status = db.Get(rocksdb::ReadOptions(), meta, std::string(kTotalsKey), &bytes);
  auto decoded = decode_totals(as_bytes(bytes));
  if (status.ok() && decoded) {
    totals = std::move(decoded).value();
  } else {
    const std::unique_ptr<rocksdb::Iterator> first(
        db.NewIterator(rocksdb::ReadOptions(), database_->column(Column::kernels)));
    first->SeekToFirst();
    if (first->Valid()) recount_due_ = true;
  }
  if (database_->lost_batches()) recount_due_ = true;

  const std::lock_guard state_lock(state_mutex_);
  totals_ = std::move(totals);
  for (auto& [id, toolchain] : toolchains_) toolchain.stored = false;
  const std::unique_ptr<rocksdb::Iterator> entry(db.NewIterator(rocksdb::ReadOptions(), meta));
  for (entry->Seek(std::string(kToolchainPrefix)); entry->Valid() && entry->key().starts_with(kToolchainPrefix);
       entry->Next()) {
    auto toolchain = decode_toolchain(to_view(entry->value()));
    if (!toolchain) continue;
    auto& known = toolchains_[toolchain->id];
    if (known.identity.id.empty()) known.identity = *toolchain;
    known.stored = known.identity == *toolchain;
  }
}

// ---- health

Error RocksStore::Impl::write_failed(const Error& error) {
  // Whatever it was, the caller's choice is the same: serve without the store. Only a full disk has its own code.
  const auto code = error.code == ErrorCode::resource_exhausted ? error.code : ErrorCode::unavailable;
  const std::lock_guard state_lock(state_mutex_);
  health_.pause = health_.degraded ? std::min(health_.pause * 2, options_.longest_retry) : options_.first_retry;
  health_.degraded = true;
  health_.error = {code, error.message};
  health_.next_try = clock_->now() + health_.pause;
  return health_.error;
}

void RocksStore::Impl::healed() {
  const std::lock_guard state_lock(state_mutex_);
  health_ = {};
}

Status RocksStore::Impl::ready_to_write_locked() {
  if (database_ && !stats().degraded) {
    if (!files_are_there()) {
      static_cast<void>(write_failed({ErrorCode::unavailable, "store folder \"" + folder_ + "\" is gone"}));
    } else if (const auto error = database_->background_errors().latched()) {
      static_cast<void>(write_failed(*error));
    }
  }
  return recover_locked();
}

// Files that are removed or unmounted stay open: the database would take records that nobody finds after a restart.
bool RocksStore::Impl::files_are_there() const {
  const auto current = folder_ + "/CURRENT";
  return root_ && root_->is_there() && (::access(current.c_str(), F_OK) == 0 || errno == EACCES);
}

Status RocksStore::Impl::try_recover() {
  const std::lock_guard write_lock(write_mutex_);
  return ready_to_write_locked();
}

Status RocksStore::Impl::probe() {
  const auto now = std::to_string(now_ms());
  const auto status =
      database_->db().Put(rocksdb::WriteOptions(), database_->column(Column::meta), std::string(kProbeKey), now);
  if (!status.ok()) return to_error(status, "store write");
  return {};
}

Status RocksStore::Impl::recover_locked() {
  {
    const std::lock_guard state_lock(state_mutex_);
    if (!health_.degraded) return {};
    if (clock_->now() < health_.next_try) return health_.error;
  }
  if (CUBIND_FAULT_FAILS("store.recover"))
    return write_failed({ErrorCode::unavailable, "store recovery: told to fail"});
  if (const auto left = free_bytes(options_.root); left < kMinFreeBytes) {
    return write_failed({ErrorCode::resource_exhausted,
                         "disk of \"" + options_.root + "\" is full: " + std::to_string(left) + " bytes are free"});
  }

  bool damaged = false;
  if (database_ && !database_->read_only() && files_are_there()) {
    const auto latched = database_->background_errors().latched();
    damaged = latched && latched->code == ErrorCode::corruption;
    if (!damaged) {
      database_->background_errors().reset();
      if (database_->db().Resume().ok() && probe() && !database_->background_errors().latched()) {
        healed();
        return {};
      }
    }
  }
  if (database_) database_->db().DisableManualCompaction();  // tick() may be in one, holding database_mutex_

  const std::unique_lock database_lock(database_mutex_);
  close_database_locked();
  if (!root_ || !root_->is_there()) {
    root_.reset();  // its lock would stand against the new one
    auto claimed = StoreRoot::claim(options_.root, options_.allow_any_filesystem);
    if (!claimed) return write_failed(claimed.error());
    root_.emplace(std::move(claimed).value());
  }
  if (damaged && ++corruptions_latched_ >= kCorruptionsBeforeSetAside) {
    if (const auto moved = set_folder_aside(folder_); !moved) return write_failed(moved.error());
    ++set_aside_;
    corruptions_latched_ = 0;
  }
  auto opened = open_database_locked();
  if (opened) opened = probe();
  if (!opened) return write_failed(opened.error());
  healed();
  return {};
}

}  // namespace cubind
