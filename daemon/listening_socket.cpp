#include "daemon/listening_socket.hpp"

#include <cerrno>
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
