#include "daemon/listening_socket.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cubind {

namespace {

Error failed(const std::string& path, const char* what) {
  const int code = errno;
  return {code == EACCES || code == EPERM ? ErrorCode::permission_denied : ErrorCode::internal,
          "socket \"" + path + "\": " + what + ": " + std::strerror(code)};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Whoever can write the folder can put a socket of his own there and give out cubins. A sticky folder (/tmp) at least
// keeps ours from being replaced.
Status check_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  const auto folder = slash == 0 ? std::string("/") : path.substr(0, slash);
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return failed(path, "its folder");
  if ((status.st_mode & S_IWOTH) == 0 || (status.st_mode & S_ISVTX) != 0) return {};
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%04o", static_cast<unsigned>(status.st_mode & 07777));
  return Error{ErrorCode::permission_denied, "socket \"" + path + "\": its folder has mode \"" + mode +
                                                 "\", which lets others put another one in its place"};
}

// Leaves nothing at `path`, or says why something must stay.
Status clear_stale(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return failed(path, "stat");
  }
  if (!S_ISSOCK(status.st_mode)) {
    return Error{ErrorCode::invalid_argument, "socket \"" + path + "\": is something else than a socket: not removed"};
  }
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto address = address_of(path);
  // EAGAIN: its queue is full, so somebody listens.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN) {
    return Error{ErrorCode::unavailable, "socket \"" + path + "\": another daemon listens there"};
  }
  if (errno != ECONNREFUSED) return failed(path, "connect");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(path, "unlink");
  return {};
}

}  // namespace

Result<ListeningSocket> ListeningSocket::make(const Wanted& wanted) {
  const auto& path = wanted.path;
  CUBIND_CHECK(check_folder(path));
  CUBIND_CHECK(clear_stale(path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed(path, "socket");
  const auto address = address_of(path);
  // Nobody can connect before listen(), so the rights are in place by then.
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failed(path, "bind");
  ListeningSocket made(std::move(fd), path);
  if (wanted.gid && ::lchown(path.c_str(), static_cast<uid_t>(-1), *wanted.gid) != 0) return failed(path, "chown");
  if (::chmod(path.c_str(), wanted.mode) != 0) return failed(path, "chmod");
  if (::listen(made.fd(), SOMAXCONN) != 0) return failed(path, "listen");
  return made;
}

ListeningSocket::ListeningSocket(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {
  struct stat status {};
  if (path_.empty() || ::lstat(path_.c_str(), &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : fd_(std::move(other.fd_)), path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

ListeningSocket::~ListeningSocket() {
  struct stat status {};
  if (path_.empty() || ::lstat(path_.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace cubind
