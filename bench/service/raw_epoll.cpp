#include "bench/service/raw_epoll.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubind::bench {

namespace {

struct RawConnection {
  std::size_t received = 0;  // of the request under way
  std::size_t unsent = 0;
};

Result<sockaddr_un> address_of(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::invalid_argument, "socket \"" + socket + "\" is longer than a socket's path can be"};
  }
  std::memcpy(address.sun_path, socket.data(), socket.size());
  return address;
}

Error failure(const char* call) {
  return {ErrorCode::internal, std::string(call) + ": " + std::strerror(errno)};
}

class Server {
 public:
  Server(int listener, std::size_t request_bytes, std::size_t reply_bytes)
      : listener_(listener), request_(request_bytes), reply_(reply_bytes) {}

  [[noreturn]] void run() {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    watch(EPOLL_CTL_ADD, listener_, EPOLLIN);
    epoll_event events[64];
    for (;;) {
      const int count = ::epoll_wait(epoll_, events, 64, -1);
      for (int i = 0; i < count; ++i) {
        const int fd = events[i].data.fd;
        if (fd == listener_) {
          accept();
        } else if (!serve(fd, connections_[fd])) {
          connections_.erase(fd);
          ::close(fd);
        }
      }
    }
  }

 private:
  void watch(int operation, int fd, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    ::epoll_ctl(epoll_, operation, fd, &event);
  }

  void accept() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    connections_[fd] = {};
    watch(EPOLL_CTL_ADD, fd, EPOLLIN);
  }

  bool serve(int fd, RawConnection& connection) {
    if (connection.unsent == 0) {
      const auto got = ::recv(fd, request_.data(), request_.size() - connection.received, 0);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      connection.received += static_cast<std::size_t>(got);
      if (connection.received < request_.size()) return true;
      connection.received = 0;
      connection.unsent = reply_.size();
    }
    const bool waited = connection.unsent != reply_.size();
    while (connection.unsent > 0) {
      const auto sent =
          ::send(fd, reply_.data() + (reply_.size() - connection.unsent), connection.unsent, MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno != EAGAIN) return false;
        watch(EPOLL_CTL_MOD, fd, EPOLLOUT);
        return true;
      }
      connection.unsent -= static_cast<std::size_t>(sent);
    }
    if (waited) watch(EPOLL_CTL_MOD, fd, EPOLLIN);
    return true;
  }

  int listener_, epoll_ = -1;
  std::vector<std::byte> request_, reply_;
  std::unordered_map<int, RawConnection> connections_;
};

}  // namespace

Result<RawServer> RawServer::start(const std::string& socket, std::size_t request_bytes, std::size_t reply_bytes) {
  CUBIND_TRY(const auto address, address_of(socket));
  ::unlink(socket.c_str());
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failure("bind");
  if (::listen(listener.get(), 16) != 0) return failure("listen");
  const int pid = ::fork();
  if (pid < 0) return failure("fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Server(listener.get(), request_bytes, reply_bytes).run();
  }
  return RawServer(pid);
}

RawServer::RawServer(RawServer&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

RawServer::~RawServer() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<RawClient> RawClient::connect(const std::string& socket, std::size_t request_bytes,
                                     const std::vector<std::size_t>& frames) {
  CUBIND_TRY(const auto address, address_of(socket));
  RawClient client;
  client.fd_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(client.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return failure("connect");
  }
  client.request_.resize(request_bytes);
  for (const auto bytes : frames) client.frames_.emplace_back(bytes);
  return client;
}

Status RawClient::round_trip() {
  if (::send(fd_.get(), request_.data(), request_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request_.size())) {
    return failure("send");
  }
  for (auto& frame : frames_) {
    std::size_t have = 0;
    while (have < frame.size()) {
      const auto got = ::recv(fd_.get(), frame.data() + have, frame.size() - have, 0);
      if (got <= 0) return failure("recv");
      have += static_cast<std::size_t>(got);
    }
  }
  return {};
}

}  // namespace cubind::bench
