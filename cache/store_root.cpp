#include "cache/store_root.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace cubind {

namespace fs = std::filesystem;

// Their numbers are part of the kernel's interface; <linux/magic.h> does not have all.
std::optional<std::string_view> refused_filesystem(std::uint32_t number) {
  switch (number) {
    case 0x01021994: return "tmpfs";
    case 0x858458f6: return "ramfs";
    case 0x6969: return "nfs";
    case 0x517b:
    case 0xff534d42:
    case 0xfe534d42: return "smb";
    case 0x5346414f: return "afs";
    case 0x00c36400: return "ceph";
    case 0x0bd00bd0: return "lustre";
    case 0x19830326: return "beegfs";
    case 0x47504653: return "gpfs";
    case 0x01021997: return "9p";
    default: return std::nullopt;
  }
}

namespace {

std::string quoted(const std::string& root) {
  return "store root \"" + root + "\"";
}

std::string reason(int error) {
  return std::generic_category().message(error);
}

std::optional<std::string_view> refused_filesystem_of(const std::string& root) {
  struct statfs info {};
  if (::statfs(root.c_str(), &info) != 0) return std::nullopt;
  return refused_filesystem(static_cast<std::uint32_t>(info.f_type));
}

Status make_folder(const std::string& root) {
  std::error_code error;
  const auto parent = fs::path(root).parent_path();
  fs::create_directories(parent, error);
  if (!error && ::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) error.assign(errno, std::generic_category());
  if (!error) return {};
  const bool denied = error.value() == EACCES || error.value() == EPERM;
  return Error{denied ? ErrorCode::permission_denied : ErrorCode::invalid_argument,
               quoted(root) + " cannot be made: " + error.message()};
}

Status check_folder(const std::string& root, bool allow_any_filesystem) {
  struct stat info {};
  if (::stat(root.c_str(), &info) != 0) {
    return Error{ErrorCode::invalid_argument, quoted(root) + " cannot be read: " + reason(errno)};
  }
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::invalid_argument, quoted(root) + " is not a folder"};
  if ((info.st_mode & S_IWOTH) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof(mode), "%04o", static_cast<unsigned>(info.st_mode & 07777));
    return Error{ErrorCode::permission_denied,
                 quoted(root) + " has mode \"" + mode + "\", which lets others write cubins; the most is 0775"};
  }
  if (::faccessat(AT_FDCWD, root.c_str(), W_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES) {
    return Error{ErrorCode::permission_denied,
                 quoted(root) + " is not writable by uid \"" + std::to_string(::geteuid()) + "\""};
  }
  if (allow_any_filesystem) return {};
  if (const auto kind = refused_filesystem_of(root)) {
    return Error{ErrorCode::invalid_argument, quoted(root) + " is on \"" + std::string(*kind) +
                                                  "\", not on a local disk; allow_any_filesystem permits it"};
  }
  return {};
}

// Folder names that are ours: v1, v12, v1.damaged.
bool is_store_folder(std::string_view name) {
  if (name.size() < 2 || name[0] != 'v') return false;
  const auto digits_end = std::min(name.find_first_not_of("0123456789", 1), name.size());
  return digits_end > 1 && (digits_end == name.size() || name.substr(digits_end) == ".damaged");
}

}  // namespace

Result<StoreRoot> StoreRoot::claim(const std::string& root, bool allow_any_filesystem) {
  if (root.empty() || root[0] != '/') {
    return Error{ErrorCode::invalid_argument, quoted(root) + " is not an absolute path"};
  }
  struct stat info {};
  if (::stat(root.c_str(), &info) != 0 && errno == ENOENT) CUBIND_CHECK(make_folder(root));
  CUBIND_CHECK(check_folder(root, allow_any_filesystem));

  const auto path = root + "/lock";
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool read_only = fd < 0 && errno == EROFS;
  if (read_only) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    // A full disk still gives an empty file, so this is the folder's fault, or there is nothing to lock.
    if (read_only && errno == ENOENT) return StoreRoot(root, -1);
    return Error{
        errno == EACCES || errno == EPERM || errno == ELOOP ? ErrorCode::permission_denied : ErrorCode::unavailable,
        quoted(root) + " cannot be locked: " + reason(errno)};
  }
  StoreRoot claimed(root, fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char pid[16] = {};
    const auto length = ::pread(fd, pid, sizeof(pid) - 1, 0);
    const std::string holder = length > 0 ? " (pid " + std::string(pid, static_cast<std::size_t>(length)) + ")" : "";
    return Error{ErrorCode::unavailable, quoted(root) + " is in use by another daemon" + holder};
  }
  if (!read_only) {  // for people and for the message above; the lock itself is the kernel's
    const auto pid = std::to_string(::getpid());
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) < 0) errno = 0;  // a full disk: no pid then
  }
  return claimed;
}

bool StoreRoot::is_there() const {
  struct stat held {
  }, found{};
  if (lock_fd_ < 0 || ::fstat(lock_fd_, &held) != 0) return true;  // nothing to tell it by
  return ::stat((path_ + "/lock").c_str(), &found) == 0 && found.st_dev == held.st_dev && found.st_ino == held.st_ino;
}

StoreRoot::StoreRoot(StoreRoot&& other) noexcept
    : path_(std::move(other.path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

StoreRoot::~StoreRoot() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

std::vector<OtherFolder> find_other_folders(const std::string& root, const std::string& own) {
  std::vector<OtherFolder> folders;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    const auto path = entry->path();
    if (!is_store_folder(path.filename().string()) || path.string() == own) continue;
    std::error_code ignored;
    if (entry->is_symlink(ignored) || !entry->is_directory(ignored)) continue;
    OtherFolder folder;
    folder.path = path.string();
    for (fs::recursive_directory_iterator file(path, ignored), files_end; !ignored && file != files_end;
         file.increment(ignored)) {
      struct stat info {};
      if (::lstat(file->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      folder.bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
      folder.last_written = std::max(folder.last_written, std::chrono::system_clock::from_time_t(info.st_mtim.tv_sec));
    }
    folders.push_back(std::move(folder));
  }
  return folders;
}

Status remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return {};
  return Error{ErrorCode::unavailable, "folder \"" + path + "\" cannot be removed: " + error.message()};
}

Status set_folder_aside(const std::string& folder) {
  const auto aside = folder + ".damaged";
  CUBIND_CHECK(remove_folder(aside));
  if (::rename(folder.c_str(), aside.c_str()) != 0 && errno != ENOENT) {
    return Error{ErrorCode::unavailable, "folder \"" + folder + "\" cannot be set aside: " + reason(errno)};
  }
  return {};
}

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace cubind
