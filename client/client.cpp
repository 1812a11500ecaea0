#include "client/client.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include <poll.h>

#include "client/fork_guard.hpp"
#include "protocol/greeting.hpp"
#include "protocol/limits.hpp"

namespace cubind {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A daemon that was started by our own connection (socket activation) greets within this.
constexpr milliseconds kGreetingDeadline{limits::kGreetingTimeout};
// The daemon ends a request at its deadline by itself; we wait a little longer for that end.
constexpr milliseconds kDeadlineGrace{2'000};
constexpr milliseconds kCancelGrace{2'000};
constexpr milliseconds kFirstPause{20}, kLastPause{500};  // between attempts to reach a daemon that restarts

void pause_for(milliseconds duration) {
  ::poll(nullptr, 0, static_cast<int>(duration.count()));
}

bool passed(Deadline deadline) {
  return deadline && steady_clock::now() >= *deadline;
}

// When connecting for a request gives up: a greeting takes no longer than it may, and not longer than the request has.
Deadline greeting_deadline(Deadline request_end) {
  const auto greeting = deadline_after(kGreetingDeadline);
  return request_end ? std::min(*greeting, *request_end) : greeting;
}

std::uint64_t id_of(const Reply& reply) {
  return std::visit([](const auto& message) { return message.id; }, reply);
}

Error unexpected_reply() {
  return {ErrorCode::corruption, "the daemon answered with a message that does not belong to the request"};
}

}  // namespace

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
  Status chunks(RequestT request, const std::function<Status(ByteView)>& piece, milliseconds deadline);

  template <class ReplyT, class RequestT>
  Result<ReplyT> ask(RequestT request, milliseconds deadline);

  struct KernelsRun;
};

// One try; the caller decides about more.
Status Client::State::connect(Deadline deadline) {
  connection.reset();
  auto opened = Connection::open(options.socket_path, options.name, deadline);
  if (!opened) return std::move(opened).error();
  connection.emplace(std::move(opened).value());
  daemon = connection->daemon();
  const ReadyRequest again{next_id++};
  if (!ready || daemon.version < first_version_of(again)) return {};
  CUBIND_CHECK(connection->send(again, deadline));
  CUBIND_TRY(const Incoming incoming, next_of(again.id, deadline));
  if (std::holds_alternative<DoneReply>(incoming.reply)) return {};
  connection.reset();
  return unexpected_reply();
}

Status Client::State::ensure_connected(Deadline deadline) {
  if (connection && connection->usable()) return {};
  return connect(deadline);
}

// The next reply to request `id`; answers to earlier ones that were given up are dropped.
Result<Incoming> Client::State::next_of(std::uint64_t id, Deadline deadline) {
  for (;;) {
    auto incoming = connection->next(deadline);
    if (!incoming || id_of(incoming->reply) == id) return incoming;
  }
}

// Withdraws a request and takes what still comes of it; a daemon that does not end it in time loses the connection.
void Client::State::cancel(std::uint64_t id) {
  const Deadline end = deadline_after(kCancelGrace);
  if (!connection->send(CancelRequest{id}, end)) return connection.reset();
  for (;;) {
    const auto incoming = next_of(id, end);
    if (!incoming) return connection.reset();
    if (std::holds_alternative<SummaryReply>(incoming->reply) || std::holds_alternative<ErrorReply>(incoming->reply)) {
      return;
    }
  }
}

// After an `unavailable`: is it because the daemon goes away (ask the next one), or is that its answer?
bool Client::State::stopping() {
  if (!connection || !connection->usable()) return true;
  const Deadline end = deadline_after(kGreetingDeadline);
  HealthRequest request{next_id++};
  if (!connection->send(request, end)) return true;
  const auto incoming = next_of(request.id, end);
  if (!incoming) return true;
  const auto* health = std::get_if<HealthReply>(&incoming->reply);
  return health == nullptr || health->state == HealthState::stopping;
}

// Kinds that are younger than the daemon are not sent to it.
Status Client::State::check_kind(const Request& request) const {
  const auto needed = first_version_of(request);
  if (daemon.version >= needed) return {};
  return Error{ErrorCode::not_supported, "this needs protocol version " + std::to_string(needed) +
                                             ", the daemon speaks version \"" + std::to_string(daemon.version) +
                                             "\": the daemon is too old"};
}

// A connection that was good and is lost is tried once more; a daemon that is not there is `unavailable`.
template <class ReplyT, class RequestT>
Result<ReplyT> Client::State::ask(RequestT request, milliseconds deadline) {
  const std::lock_guard lock(mutex);
  const Deadline end = deadline_after(deadline.count() > 0 ? deadline : options.request_deadline);
  for (int attempt = 0;; ++attempt) {
    CUBIND_CHECK(ensure_connected(greeting_deadline(end)));
    CUBIND_CHECK(check_kind(request));
    request.id = next_id++;
    const Status sent = connection->send(request, end);
    auto incoming = sent ? next_of(request.id, end) : Result<Incoming>(sent.error());
    if (incoming) {
      if (auto* reply = std::get_if<ReplyT>(&incoming->reply)) return std::move(*reply);
      if (auto* refused = std::get_if<ErrorReply>(&incoming->reply)) return Error{refused->code, refused->message};
      connection.reset();
      return unexpected_reply();
    }
    if (connection->usable() || attempt > 0) return std::move(incoming).error();
  }
}

// A kernels request over however many connections it takes.
struct Client::State::KernelsRun {
  State& state;
  KernelsRequest& request;
  const KernelsCallbacks& callbacks;
  const Deadline end;
  std::unordered_set<KernelKey, DigestHash> delivered;
  std::vector<bool> tables;            // delivered, by layer
  std::vector<KernelReply> undecided;  // `unavailable`, until it is known whether another daemon will do
  SummaryReply total;                  // counts of what was delivered
  ProgressReply progress;              // the last there was
  const steady_clock::time_point started = steady_clock::now();

  enum class End { finished, again };

  void deliver(const KernelReply& reply, Bytes code) {
    if (!delivered.insert(reply.key).second) return;
    if (reply.code == ErrorCode::ok) {
      request.held.push_back(reply.key);
      switch (reply.outcome) {
        case Outcome::hit_memory: ++total.hits_memory; break;
        case Outcome::hit_disk: ++total.hits_disk; break;
        case Outcome::built:
          ++total.built;
          total.compile_ms += reply.info.compile_ms;
          break;
        case Outcome::joined: ++total.joined; break;
        case Outcome::none: break;
      }
    } else if (reply.code == ErrorCode::pending) {
      ++total.pending;
    } else {
      ++total.failed;
    }
    if (callbacks.kernel) callbacks.kernel(reply, std::move(code));
  }

  Status report_progress() {
    progress.elapsed_ms =
        static_cast<std::uint32_t>(std::chrono::duration_cast<milliseconds>(steady_clock::now() - started).count());
    if (!callbacks.progress || callbacks.progress(progress)) return {};
    return Error{ErrorCode::cancelled, "the caller cancelled the request"};
  }

  Status check(const KernelReply& reply, const Bytes& code) const {
    if (reply.code != ErrorCode::ok || !request.with_code || !code.empty()) return {};
    if (std::find(request.held.begin(), request.held.end(), reply.key) != request.held.end()) return {};
    return Error{ErrorCode::corruption, "kernel \"" + reply.key.short_hex() + "\" came without its code"};
  }

  // Sends the request and takes replies until its end. `again`: this daemon went away in the middle.
  Result<End> once() {
    undecided.clear();
    request.id = state.next_id++;
    if (end) {
      const auto left = std::chrono::duration_cast<milliseconds>(*end - steady_clock::now()).count();
      request.deadline_ms = static_cast<std::uint32_t>(std::clamp<long long>(left, 1, UINT32_MAX));
    }
    const Deadline last = end ? Deadline(*end + kDeadlineGrace) : std::nullopt;
    if (!state.connection->send(request, last)) return End::again;
    for (;;) {
      auto incoming = state.next_of(request.id, last);
      if (!incoming) {
        if (incoming.error().code != ErrorCode::unavailable) return std::move(incoming).error();
        return End::again;
      }
      if (auto* table = std::get_if<TableReply>(&incoming->reply)) {
        if (table->layer >= tables.size()) return unexpected_reply();
        if (!tables[table->layer] && callbacks.table) callbacks.table(*table);
        tables[table->layer] = true;
      } else if (auto* kernel = std::get_if<KernelReply>(&incoming->reply)) {
        CUBIND_CHECK(check(*kernel, incoming->code));
        if (kernel->code == ErrorCode::unavailable) {
          undecided.push_back(std::move(*kernel));
        } else {
          deliver(*kernel, std::move(incoming->code));
        }
      } else if (auto* now = std::get_if<ProgressReply>(&incoming->reply)) {
        progress = *now;
        if (Status wanted = report_progress(); !wanted) {
          state.cancel(request.id);
          return std::move(wanted).error();
        }
      } else if (auto* summary = std::get_if<SummaryReply>(&incoming->reply)) {
        total.total = std::max(total.total, summary->total);
        return undecided.empty() || !state.stopping() ? End::finished : End::again;
      } else if (auto* refused = std::get_if<ErrorReply>(&incoming->reply)) {
        if (refused->code == ErrorCode::unavailable && state.stopping()) return End::again;
        return Error{refused->code, refused->message};
      } else {
        return unexpected_reply();
      }
    }
  }

  Result<SummaryReply> run() {
    tables.assign(request.layers.size(), false);
    milliseconds pause{0};
    for (;;) {
      if (Status reached = state.ensure_connected(greeting_deadline(end)); !reached) {
        if (reached.error().code != ErrorCode::unavailable || passed(end)) return std::move(reached).error();
      } else {
        auto ended = once();
        if (!ended) {
          // What is still on its way belongs to nobody: only a clean end leaves a connection that can be used again.
          if (ended.error().code == ErrorCode::corruption || ended.error().code == ErrorCode::pending) {
            state.connection.reset();
          }
          return std::move(ended).error();
        }
        if (*ended == End::finished) break;
        state.connection.reset();
        if (passed(end)) return Error{ErrorCode::unavailable, "the daemon went away and the deadline has passed"};
      }
      CUBIND_CHECK(report_progress());
      pause = std::clamp(pause * 2, kFirstPause, kLastPause);
      pause_for(pause);
    }
    for (KernelReply& reply : undecided) deliver(reply, {});
    total.id = request.id;
    total.elapsed_ms =
        static_cast<std::uint32_t>(std::chrono::duration_cast<milliseconds>(steady_clock::now() - started).count());
    return total;
  }
};

Client::Client(ClientOptions options) : state_(std::make_unique<State>()) {
  if (options.socket_path.empty()) options.socket_path = default_socket_path();
  state_->options = std::move(options);
  fork_guard_ = std::make_unique<ForkGuard>([this] {
    auto fresh = std::make_unique<State>();
    fresh->options = state_->options;
    fresh->daemon = state_->daemon;
    if (state_->connection) state_->connection->abandon();
    fresh->of_parent = state_.release();
    state_ = std::move(fresh);
  });
}

Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::open(ClientOptions options) {
  const Deadline end = deadline_after(options.connect_deadline);
  const Deadline greeting = deadline_after(std::max(options.connect_deadline, kGreetingDeadline));
  std::unique_ptr<Client> client(new Client(std::move(options)));
  milliseconds pause{0};
  for (;;) {
    const Status connected = client->state_->connect(greeting);
    if (connected) return client;
    if (connected.error().code != ErrorCode::unavailable || passed(end)) return connected.error();
    pause = std::clamp(pause * 2, kFirstPause, kLastPause);
    pause_for(pause);
  }
}

Result<SummaryReply> Client::kernels(KernelsRequest request, const KernelsCallbacks& callbacks, milliseconds deadline) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const Deadline end = deadline_after(deadline.count() > 0 ? deadline : state.options.request_deadline);
  return State::KernelsRun{state, request, callbacks, end, {}, {}, {}, {}, {}}.run();
}

Result<HealthReply> Client::health(milliseconds deadline) {
  return state_->ask<HealthReply>(HealthRequest{}, deadline);
}
Result<StatsReply> Client::stats(milliseconds deadline) {
  return state_->ask<StatsReply>(StatsRequest{}, deadline);
}
Result<ListReply> Client::list(ListRequest request, milliseconds deadline) {
  return state_->ask<ListReply>(std::move(request), deadline);
}
Result<ExplainReply> Client::explain(ExplainRequest request, milliseconds deadline) {
  return state_->ask<ExplainReply>(std::move(request), deadline);
}
Result<PurgeReply> Client::purge(PurgeRequest request, milliseconds deadline) {
  return state_->ask<PurgeReply>(std::move(request), deadline);
}

Result<NearestReply> Client::nearest(NearestRequest request, milliseconds deadline) {
  return state_->ask<NearestReply>(std::move(request), deadline);
}
Result<DoneReply> Client::reload(milliseconds deadline) {
  return state_->ask<DoneReply>(ReloadRequest{}, deadline);
}
Result<DoneReply> Client::declare_user_ready(bool ready, milliseconds deadline) {
  return state_->ask<DoneReply>(ReadyRequest{0, ReadyScope::user, !ready}, deadline);
}

Status Client::declare_ready(bool ready, milliseconds deadline) {
  CUBIND_TRY(const DoneReply done, state_->ask<DoneReply>(ReadyRequest{0, ReadyScope::connection, !ready}, deadline));
  const std::lock_guard lock(state_->mutex);
  state_->ready = ready;
  return {};
}

// Hands the pieces of a reply in chunks to `piece`, in order.
template <class RequestT>
Status Client::State::chunks(RequestT request, const std::function<Status(ByteView)>& piece, milliseconds deadline) {
  const std::lock_guard lock(mutex);
  const Deadline end = deadline_after(deadline.count() > 0 ? deadline : options.request_deadline);
  CUBIND_CHECK(ensure_connected(greeting_deadline(end)));
  request.id = next_id++;
  CUBIND_CHECK(check_kind(request));
  CUBIND_CHECK(connection->send(request, end));
  for (;;) {
    CUBIND_TRY(const Incoming incoming, next_of(request.id, end));
    if (const auto* refused = std::get_if<ErrorReply>(&incoming.reply)) return Error{refused->code, refused->message};
    const auto* chunk = std::get_if<ChunkReply>(&incoming.reply);
    if (chunk == nullptr) {
      connection.reset();
      return unexpected_reply();
    }
    if (Status taken = piece(chunk->data); !taken) {
      connection.reset();  // what is still on its way belongs to nobody
      return taken;
    }
    if (chunk->last) return {};
  }
}

Result<std::string> Client::trace(milliseconds deadline) {
  std::string text;
  const auto piece = [&text](ByteView data) -> Status {
    text += as_text(data);
    return {};
  };
  CUBIND_CHECK(state_->chunks(TraceRequest{}, piece, deadline));
  return text;
}

Status Client::export_bundle(ExportRequest request, const std::function<Status(ByteView)>& piece,
                             milliseconds deadline) {
  return state_->chunks(std::move(request), piece, deadline);
}
Result<DoneReply> Client::import_bundle(ImportRequest request, milliseconds deadline) {
  return state_->ask<DoneReply>(std::move(request), deadline);
}

Result<SummaryReply> Client::verify(VerifyRequest request, const std::function<void(const VerifyReply&)>& record,
                                    milliseconds deadline) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const Deadline end = deadline_after(deadline.count() > 0 ? deadline : state.options.request_deadline);
  CUBIND_CHECK(state.ensure_connected(greeting_deadline(end)));
  request.id = state.next_id++;
  CUBIND_CHECK(state.connection->send(request, end));
  for (;;) {
    CUBIND_TRY(const Incoming incoming, state.next_of(request.id, end));
    if (const auto* summary = std::get_if<SummaryReply>(&incoming.reply)) return *summary;
    if (const auto* refused = std::get_if<ErrorReply>(&incoming.reply)) return Error{refused->code, refused->message};
    if (std::holds_alternative<ProgressReply>(incoming.reply)) continue;  // only says that the daemon is at it
    const auto* verified = std::get_if<VerifyReply>(&incoming.reply);
    if (verified == nullptr) {
      state.connection.reset();
      return unexpected_reply();
    }
    if (record) record(*verified);
  }
}

ServerHello Client::daemon() const {
  const std::lock_guard lock(state_->mutex);
  return state_->daemon;
}

}  // namespace cubind
