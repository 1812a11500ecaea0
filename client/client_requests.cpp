// Requests other than for kernels.
#include <utility>

#include "client/client_state.hpp"

namespace cubind {

using std::chrono::milliseconds;

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

Result<DoneReply> Client::import_bundle(const std::function<Result<ImportRequest>()>& next, milliseconds deadline) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const Deadline end = deadline_after(deadline.count() > 0 ? deadline : state.options.request_deadline);
  CUBIND_CHECK(state.ensure_connected(greeting_deadline(end)));
  const auto send_all = [&]() -> Result<DoneReply> {
    for (;;) {
      CUBIND_TRY(ImportRequest piece, next());
      CUBIND_CHECK(state.check_kind(piece));
      piece.id = state.next_id++;
      CUBIND_CHECK(state.connection->send(piece, end));
      CUBIND_TRY(const Incoming incoming, state.next_of(piece.id, end));
      if (const auto* refused = std::get_if<ErrorReply>(&incoming.reply)) return Error{refused->code, refused->message};
      const auto* done = std::get_if<DoneReply>(&incoming.reply);
      if (done == nullptr) return unexpected_reply();
      if (piece.last) return *done;
    }
  };
  auto done = send_all();
  if (!done) state.connection.reset();  // with it the daemon forgets the pieces that it has
  return done;
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
