#include "client/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "client/wire.hpp"
#include "protocol/greeting.hpp"
#include "protocol/limits.hpp"

namespace cubind {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A read takes what is asked for straight to where it belongs, and this much more: the frames that come next. Much more
// would be the next cubin, which would then have to be copied.
constexpr std::size_t kReadAhead = 4 << 10;
constexpr std::size_t kFrameHeader = 4;
constexpr milliseconds kFullBacklogPause{5};  // connect() on a Unix socket cannot be polled when the backlog is full

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string errno_text(int code) {
  char buffer[128] = "";
  const char* text = ::strerror_r(code, buffer, sizeof buffer);  // the GNU one: thread-safe, may not use the buffer
  return text;
}

Error connect_error(const std::string& path, int code) {
  switch (code) {
    case EACCES:
    case EPERM:
      return {ErrorCode::permission_denied,
              "socket " + quoted(path) + " may not be opened by this user: join the socket's group"};
    case ENOENT:
    case ECONNREFUSED:
      return {ErrorCode::unavailable, "no daemon listens on socket " + quoted(path) + ": " + errno_text(code)};
    default: return {ErrorCode::unavailable, "cannot connect to socket " + quoted(path) + ": " + errno_text(code)};
  }
}

// Waits until the descriptor is ready; false when the deadline has passed.
bool wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    int timeout = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<milliseconds>(*deadline - steady_clock::now()).count();
      timeout = static_cast<int>(std::clamp<long long>(left, 0, 60'000));
    }
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, timeout);
    if (ready > 0) return true;  // also for POLLHUP and POLLERR: the following call reports them
    if (ready < 0 && errno != EINTR) return true;
    if (deadline && steady_clock::now() >= *deadline) return false;
  }
}

Result<UniqueFd> connect_to(const std::string& path, Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::invalid_argument, "socket " + quoted(path) + " is not a path of 1 to " +
                                                  std::to_string(sizeof address.sun_path - 1) + " bytes"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  for (;;) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return Error{ErrorCode::resource_exhausted, "cannot make a socket: " + errno_text(errno)};
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return connect_error(path, errno);
    if (deadline && steady_clock::now() >= *deadline) return connect_error(path, EAGAIN);
    ::poll(nullptr, 0, static_cast<int>(kFullBacklogPause.count()));
  }
}

}  // namespace

std::string default_socket_path() {
  const char* named = std::getenv("CUBIND_SOCKET");
  return named != nullptr && *named != '\0' ? named : "/run/cubind/cubind.sock";
}

Result<Connection> Connection::open(const std::string& socket_path, const std::string& name, Deadline deadline) {
  CUBIND_TRY(UniqueFd fd, connect_to(socket_path, deadline));
  Connection connection(std::move(fd));
  if (Status greeted = connection.greet(name, deadline); !greeted) {
    Error error = std::move(greeted).error();
    if (error.code == ErrorCode::pending) error.code = ErrorCode::unavailable;  // it listens, but nobody is at home yet
    error.message = "greeting on socket " + quoted(socket_path) + ": " + error.message;
    return error;
  }
  return connection;
}

Status Connection::greet(const std::string& name, Deadline deadline) {
  ClientHello hello;
  hello.client = name;
  CUBIND_CHECK(write_all(wire::encode(hello), deadline));
  CUBIND_TRY(const Bytes payload, read_frame(deadline));
  CUBIND_TRY(daemon_, wire::decode_server_hello(payload));
  if (Status agreed = check_greeting(hello, daemon_); !agreed) return lost(std::move(agreed).error());
  return {};
}

Status Connection::send(const Request& request, Deadline deadline) {
  return write_all(wire::encode(request), deadline);
}

Result<Incoming> Connection::next(Deadline deadline) {
  CUBIND_TRY(const Bytes payload, read_frame(deadline));
  auto reply = wire::decode_reply(payload);
  if (!reply) return lost(std::move(reply).error());
  Incoming incoming{std::move(reply).value(), {}};
  if (const auto* kernel = std::get_if<KernelReply>(&incoming.reply); kernel != nullptr && kernel->code_bytes > 0) {
    if (kernel->code_bytes > limits::kMaxCubinBytes) {
      return lost({ErrorCode::corruption, "code_bytes \"" + std::to_string(kernel->code_bytes) + "\" is above " +
                                              std::to_string(limits::kMaxCubinBytes)});
    }
    incoming.code.resize(kernel->code_bytes);
    CUBIND_CHECK(read_exact(incoming.code.data(), incoming.code.size(), deadline_after(limits::kWriteTimeout)));
  }
  return incoming;
}

Result<Bytes> Connection::read_frame(Deadline deadline) {
  if (!usable_) return Error{ErrorCode::unavailable, "the connection is lost"};
  // Only the wait for a message's first byte is the caller's: then the daemon is writing, and stopping would lose the
  // connection.
  if (begin_ == end_ && !wait_for(fd_.get(), POLLIN, deadline)) {
    return Error{ErrorCode::pending, "no answer within the deadline"};
  }
  const Deadline rest = deadline_after(limits::kWriteTimeout);
  std::byte header[kFrameHeader];
  CUBIND_CHECK(read_exact(header, sizeof header, rest));
  const auto size = load_le<std::uint32_t>(header);
  if (size == 0 || size % 8 != 0 || size > limits::kMaxReplyBytes) {
    return lost({ErrorCode::corruption, "frame length \"" + std::to_string(size) +
                                            "\" is not a positive multiple of 8 up to " +
                                            std::to_string(limits::kMaxReplyBytes)});
  }
  Bytes payload(size);
  CUBIND_CHECK(read_exact(payload.data(), payload.size(), rest));
  return payload;
}

Status Connection::read_exact(std::byte* out, std::size_t count, Deadline deadline) {
  while (count > 0) {
    if (begin_ < end_) {
      const std::size_t taken = std::min(count, end_ - begin_);
      std::memcpy(out, buffer_.data() + begin_, taken);
      begin_ += taken;
      out += taken;
      count -= taken;
      continue;
    }
    if (buffer_.empty()) buffer_.resize(kReadAhead);
    const iovec parts[] = {{out, count}, {buffer_.data(), buffer_.size()}};
    const ssize_t got = ::readv(fd_.get(), parts, 2);
    if (got > 0) {
      const std::size_t taken = std::min(count, static_cast<std::size_t>(got));
      out += taken;
      count -= taken;
      begin_ = 0;
      end_ = static_cast<std::size_t>(got) - taken;
    } else if (got == 0) {
      return lost({ErrorCode::unavailable, "the daemon closed the connection"});
    } else if (errno == EAGAIN) {
      if (!wait_for(fd_.get(), POLLIN, deadline)) {
        return lost({ErrorCode::unavailable, "the daemon stopped in the middle of a message"});
      }
    } else if (errno != EINTR) {
      return lost({ErrorCode::unavailable, "cannot read from the daemon: " + errno_text(errno)});
    }
  }
  return {};
}

Status Connection::write_all(ByteView bytes, Deadline deadline) {
  if (!usable_) return Error{ErrorCode::unavailable, "the connection is lost"};
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd_.get(), POLLOUT, deadline)) {
        return lost({ErrorCode::unavailable, "the daemon does not take the request within the deadline"});
      }
    } else if (errno != EINTR) {
      return lost({ErrorCode::unavailable, "cannot write to the daemon: " + errno_text(errno)});
    }
  }
  return {};
}

Error Connection::lost(Error error) {
  usable_ = false;
  return error;
}

}  // namespace cubind
