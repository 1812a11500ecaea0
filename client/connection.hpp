// One connection to the daemon: blocking POSIX over client/wire, with a deadline on every step. Knows frames and
// messages, not what they are for; client/client.hpp is the layer above that asks again when the daemon restarts.
//
// Errors: `unavailable` if the daemon is absent, refuses, or closed the connection (the connection is then of no use
// any more); `pending` if the deadline passed (a reply may still come; usable() says whether this connection can still
// take it); `permission_denied` if the socket may not be opened; `corruption` if what came does not
// parse; `not_supported` if no protocol version is common, naming both ranges.
// Not thread-safe. Never raises SIGPIPE. The descriptor is close-on-exec.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "protocol/messages.hpp"

namespace cubind {

// A point in time after which a call gives up; no value = never.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;
inline Deadline deadline_after(std::chrono::milliseconds duration) {
  return std::chrono::steady_clock::now() + duration;
}

// $CUBIND_SOCKET, else /run/cubind/cubind.sock.
std::string default_socket_path();

// A reply and the cubin that followed it (KernelReply with code_bytes > 0 only).
struct Incoming {
  Reply reply;
  Bytes code;
};

class Connection {
 public:
  // Connects once and exchanges greetings. A daemon that is not there is `unavailable` at once. `name` goes into the
  // greeting, for the daemon's log.
  static Result<Connection> open(const std::string& socket_path, const std::string& name, Deadline deadline);

  // Writes one request; several may be in flight, told apart by their ids.
  Status send(const Request& request, Deadline deadline);

  // The next reply of any request in flight, in the order the daemon wrote them. `pending` only between messages: one
  // that has begun is read to its end, for at most limits::kWriteTimeout more.
  Result<Incoming> next(Deadline deadline);

  const ServerHello& daemon() const { return daemon_; }

  // False after an error that leaves the stream unknown: closed, unparsable, or stopped in the middle of a message.
  bool usable() const { return usable_; }

  // Only for fork's child: closes this process's copy of the descriptor, writes nothing.
  void abandon() { fd_.reset(); }

 private:
  explicit Connection(UniqueFd fd) : fd_(std::move(fd)) {}
  Status greet(const std::string& name, Deadline deadline);
  Result<Bytes> read_frame(Deadline deadline);
  Status read_exact(std::byte* out, std::size_t count, Deadline deadline);
  Status write_all(ByteView bytes, Deadline deadline);
  Error lost(Error error);  // notes that the stream cannot go on

  UniqueFd fd_;
  Bytes buffer_;  // read ahead: [begin_, end_) is not yet taken
  std::size_t begin_ = 0, end_ = 0;
  ServerHello daemon_;
  bool usable_ = true;
};

}  // namespace cubind
