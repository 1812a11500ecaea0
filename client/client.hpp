// A client of the daemon: one connection, made when it is needed and made again when the daemon restarts. Requests are
// idempotent, so one that was interrupted is asked again, without the kernels that already came, until its deadline.
// Shared by the C ABI and cubinctl. Thread-safe: requests take turns.
//
// Errors beyond the daemon's own: `unavailable` if there is no daemon (at open: after connect_deadline; later: after
// the request's deadline), `pending` if the deadline passed with a daemon that was there, `cancelled` if a callback
// said so.
//
// Fork: a child's first request makes a connection of its own; the parent's is not disturbed. A child that is forked
// while another thread is inside a request keeps that request's memory, never freed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "client/connection.hpp"
#include "client/fork_guard.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct ClientOptions {
  std::string socket_path;                              // empty = default_socket_path()
  std::string name;                                     // for the daemon's log
  std::chrono::milliseconds connect_deadline{0};        // how long open() waits for a daemon that is not there
  std::chrono::milliseconds request_deadline{600'000};  // of calls that name none
};

// Any of them may be empty. Called by the thread that waits, while the client is locked: they must not use it.
struct KernelsCallbacks {
  std::function<void(const TableReply&)> table;
  // Once for each distinct kernel, whatever its code: ok, pending, or why there is none. `code` is empty if none was
  // asked for or the kernel is in `held`.
  std::function<void(const KernelReply&, Bytes code)> kernel;
  std::function<bool(const ProgressReply&)> progress;  // false cancels
};

class Client {
 public:
  // Connects and greets, so that an absent daemon is found here.
  static Result<std::unique_ptr<Client>> open(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Runs one request to its end; its `id` and `deadline_ms` are set here. Kernels that failed are reported to the
  // callback and counted in the summary, they are not an error of the request; a request that is refused as a whole is.
  // The summary counts each kernel once, also if the request was asked again.
  Result<SummaryReply> kernels(KernelsRequest request, const KernelsCallbacks& callbacks,
                               std::chrono::milliseconds deadline = {});

  // One request, one reply of the type that belongs to it; the daemon's ErrorReply is the error.
  Result<HealthReply> health(std::chrono::milliseconds deadline = {});
  Result<StatsReply> stats(std::chrono::milliseconds deadline = {});
  Result<ListReply> list(ListRequest request, std::chrono::milliseconds deadline = {});
  Result<ExplainReply> explain(ExplainRequest request, std::chrono::milliseconds deadline = {});
  Result<PurgeReply> purge(PurgeRequest request, std::chrono::milliseconds deadline = {});
  Result<NearestReply> nearest(NearestRequest request, std::chrono::milliseconds deadline = {});
  Result<DoneReply> reload(std::chrono::milliseconds deadline = {});
  Result<std::string> trace(std::chrono::milliseconds deadline = {});  // protocol/trace.hpp's text

  // Calls `piece` with the parts of the bundle, in order; its error ends it.
  Status export_bundle(ExportRequest request, const std::function<Status(ByteView)>& piece,
                       std::chrono::milliseconds deadline = {});
  Result<DoneReply> import_bundle(ImportRequest request, std::chrono::milliseconds deadline = {});  // one piece

  // From here on a compile that this client's foreground requests need is an alarm of the daemon's. It stays declared
  // over reconnects; a forked child has declared nothing. With a daemon that is too old to know of it: not_supported.
  Status declare_ready(bool ready, std::chrono::milliseconds deadline = {});
  // The same for everybody of this user, until the daemon ends.
  Result<DoneReply> declare_user_ready(bool ready, std::chrono::milliseconds deadline = {});
  // `record` is called for each record; not asked again if the daemon restarts.
  Result<SummaryReply> verify(VerifyRequest request, const std::function<void(const VerifyReply&)>& record,
                              std::chrono::milliseconds deadline = {});

  // As the daemon greeted last.
  ServerHello daemon() const;

 private:
  explicit Client(ClientOptions options);
  struct State;
  std::unique_ptr<State> state_;
  std::unique_ptr<ForkGuard> fork_guard_;  // last: it uses the state
};

}  // namespace cubind
