// The folder that holds a daemon's store: whether it is fit for one, the lock that makes it this daemon's alone, and
// what lies in it beside this schema's folder. Knows no database.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cubind {

// Owns the lock on a root: a flock on <root>/lock, gone with the process however it ends.
class StoreRoot {
 public:
  // The rules and their codes are RocksStore::open's. On a read-only file system it is claimed without a lock if there
  // is no lock file: nothing can be written there anyway.
  static Result<StoreRoot> claim(const std::string& root, bool allow_any_filesystem);

  StoreRoot(StoreRoot&& other) noexcept;
  StoreRoot& operator=(StoreRoot&&) = delete;
  ~StoreRoot();

  const std::string& path() const { return path_; }

  // False once the path leads somewhere else, or nowhere: removed, unmounted, something mounted over it.
  bool is_there() const;

 private:
  StoreRoot(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  std::string path_;
  int lock_fd_;  // -1: not locked
};

// The name of a file system that forgets at reboot or eats memory, or whose locks and caches span machines, by its
// number (statfs); nothing for any other.
std::optional<std::string_view> refused_filesystem(std::uint32_t number);

// Another schema's folder (v<number>), or one that was set aside (v<number>.damaged).
struct OtherFolder {
  std::string path;
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point last_written;  // newest of its files
};

// Those in `root`, except `own`. What does not look like ours is not listed and never touched.
std::vector<OtherFolder> find_other_folders(const std::string& root, const std::string& own);

Status remove_folder(const std::string& path);

// Renames `folder` to <folder>.damaged, in place of one that was set aside before.
Status set_folder_aside(const std::string& folder);

// What an unprivileged writer could still put there; the largest number if the file system does not say.
std::uint64_t free_bytes(const std::string& folder);

}  // namespace cubind
