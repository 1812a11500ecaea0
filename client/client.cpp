#include "client/client.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <poll.h>

#include "client/client_state.hpp"
#include "client/fork_guard.hpp"

namespace cubind {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

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

std::uint64_t id_of(const Reply& reply) {
  return std::visit([](const auto& message) { return message.id; }, reply);
}

}  // namespace

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

}  // namespace cubind
