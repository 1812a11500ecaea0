#include "cache/rocks_base.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>

#include "cache/record.hpp"
#include "cache/rocks_lookup.hpp"
#include "cache/rocks_store_impl.hpp"
#include "cache/side_records.hpp"

namespace cubind {

namespace {

Status check_folder(const std::string& folder) {
  const auto named = "base layer \"" + folder + "\"";
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    return Error{errno == ENOENT ? ErrorCode::not_found : ErrorCode::permission_denied,
                 named + " cannot be read: " + std::generic_category().message(errno)};
  }
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::not_found, named + " is not a folder"};
  if ((info.st_mode & S_IWOTH) != 0) {
    return Error{ErrorCode::permission_denied, named + " can be written by others"};
  }
  return {};
}

}  // namespace

class RocksBase::Impl {
 public:
  explicit Impl(std::unique_ptr<Database> opened) : database(std::move(opened)) {}
  std::unique_ptr<Database> database;
};

RocksBase::RocksBase() = default;
RocksBase::~RocksBase() = default;

Result<std::unique_ptr<RocksBase>> RocksBase::open(const std::string& root) {
  CUBIND_CHECK(check_folder(root));
  const auto folder = root + "/v" + std::to_string(kRecordSchema);
  CUBIND_CHECK(check_folder(folder));
  auto opened = Database::open_read_only(folder);
  if (!opened.ok()) return Error{opened.error().code, "base layer \"" + folder + "\": " + opened.error().message};

  std::unique_ptr<RocksBase> base(new RocksBase);
  base->impl_ = std::make_unique<Impl>(*std::move(opened));
  auto& database = *base->impl_->database;
  auto* meta = database.column(Column::meta);
  rocksdb::PinnableSlice bytes;
  if (database.db().Get(rocksdb::ReadOptions(), meta, std::string(kTotalsKey), &bytes).ok()) {
    if (const auto totals = decode_totals(to_view(bytes))) base->records_ = totals->records;
  }
  const std::unique_ptr<rocksdb::Iterator> entry(database.db().NewIterator(rocksdb::ReadOptions(), meta));
  for (entry->Seek(std::string(kToolchainPrefix)); entry->Valid() && entry->key().starts_with(kToolchainPrefix);
       entry->Next()) {
    if (auto toolchain = decode_toolchain(to_view(entry->value()))) {
      base->toolchains_.push_back(std::move(toolchain).value());
    }
  }
  return base;
}

std::optional<Artifact> RocksBase::get(const KernelKey& key, const std::vector<Ingredient>& ingredients) {
  auto found = look_up(*impl_->database, key, ingredients);
  if (found.outcome == RocksLookup::Outcome::bad_record || found.outcome == RocksLookup::Outcome::bad_blob) {
    ++corrupt_records_;
  }
  return std::move(found.artifact);
}

}  // namespace cubind
