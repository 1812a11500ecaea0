// Client's inside: its connection, and what every request does with it. Included by client.cpp, which has connecting
// and kernels requests, and client_requests.cpp, which has the others. All of it wants `mutex` held, except ask() and
// chunks(), which take it.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

#include "client/client.hpp"
#include "client/connection.hpp"
#include "protocol/greeting.hpp"
#include "protocol/limits.hpp"

namespace cubind {

// A daemon that was started by our own connection (socket activation) greets within this.
inline constexpr std::chrono::milliseconds kGreetingDeadline{limits::kGreetingTimeout};

// When connecting for a request gives up: a greeting takes no longer than it may, and not longer than the request has.
inline Deadline greeting_deadline(Deadline request_end) {
  const auto greeting = deadline_after(kGreetingDeadline);
  return request_end ? std::min(*greeting, *request_end) : greeting;
}

inline Error unexpected_reply() {
  return {ErrorCode::corruption, "the daemon answered with a message that does not belong to the request"};
}

struct Client::State {
  std::mutex mutex;
  ClientOptions options;
  std::optional<Connection> connection;
  ServerHello daemon;
  std::uint64_t next_id = 1;
  bool ready = false;          // declared, so said again to every daemon that knows of it
  State* of_parent = nullptr;  // only keeps it reachable: another thread may have been inside it at the fork

  Status connect(Deadline deadline);
  Status ensure_connected(Deadline deadline);
  Result<Incoming> next_of(std::uint64_t id, Deadline deadline);
  void cancel(std::uint64_t id);
  bool stopping();
  Status check_kind(const Request& request) const;
  template <class RequestT>
  Status chunks(RequestT request, const std::function<Status(ByteView)>& piece, std::chrono::milliseconds deadline);

  template <class ReplyT, class RequestT>
  Result<ReplyT> ask(RequestT request, std::chrono::milliseconds deadline);

  struct KernelsRun;
};

}  // namespace cubind
