#include "daemon/session_logic.hpp"

#include <algorithm>
#include <utility>

#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "daemon/bundle_export.hpp"
#include "daemon/disk_call.hpp"
#include "daemon/kernels_call.hpp"
#include "daemon/nearest_record.hpp"
#include "daemon/record_list.hpp"
#include "daemon/text_call.hpp"
#include "daemon/verify_call.hpp"
#include "protocol/codec.hpp"
#include "protocol/greeting.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

constexpr std::size_t kReadBytes = 16 << 10;  // most requests are smaller: one read each

class Inside {  // marks the time during which the caller will look at the output anyhow
 public:
  explicit Inside(bool& flag) : flag_(flag) { flag_ = true; }
  ~Inside() { flag_ = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool& flag_;
};

std::uint64_t id_of(const Request& request) {
  return std::visit([](const auto& one) { return one.id; }, request);
}

// The name of a kind that only looks; null for those that do something, which write a line that says what.
const char* looking(const Request& request) {
  if (std::holds_alternative<StatsRequest>(request)) return "stats";
  if (std::holds_alternative<HealthRequest>(request)) return "health";
  if (std::holds_alternative<ExplainRequest>(request)) return "explain";
  if (std::holds_alternative<NearestRequest>(request)) return "nearest";
  if (std::holds_alternative<ListRequest>(request)) return "list";
  if (std::holds_alternative<TraceRequest>(request)) return "trace";
  if (std::holds_alternative<ExportRequest>(request)) return "export";
  if (std::holds_alternative<VerifyRequest>(request)) return "verify";
  return nullptr;
}

}  // namespace

SessionLogic::SessionLogic(Parts& parts, Peer peer, std::function<void()> output_ready)
    : parts_(parts),
      peer_(std::move(peer)),
      output_ready_(std::move(output_ready)),
      opened_(parts.clock.now()),
      reader_(limits::kMaxRequestBytes) {}

SessionLogic::~SessionLogic() = default;

std::span<std::byte> SessionLogic::input_space() {
  return reader_.space(kReadBytes);
}

void SessionLogic::received(std::size_t bytes, SteadyTime now) {
  const Inside inside(inside_);
  reader_.commit(bytes);
  process(now);
  reader_.trim();
}

void SessionLogic::written(std::size_t bytes, SteadyTime now) {
  const Inside inside(inside_);
  parts_.metrics.sent_bytes += bytes;
  const bool had_room = has_room();
  output_.consume(bytes);
  if (had_room || !has_room()) return;
  for (const auto& [id, call] : calls_) call->advance(now);
  process(now);
}

void SessionLogic::process(SteadyTime now) {
  forget_finished();
  while (wants_input()) {
    auto frame = reader_.next();
    if (!frame.ok()) return lose_stream(std::move(frame).error());
    if (!frame->has_value()) return;
    if (state_ == State::greeting) {
      greet(**frame);
    } else {
      dispatch(**frame, now);
    }
  }
}

void SessionLogic::greet(ByteView payload) {
  const auto hello = codec::decode_client_hello(payload);
  if (!hello.ok()) return lose_stream(hello.error());
  auto answer = answer_greeting(*hello, parts_.daemon);
  answer.launch_abi = kLaunchAbi;
  answer.weight_layout = kWeightLayout;
  version_ = answer.version;
  state_ = answer.version == 0 ? State::ending : State::serving;
  log(answer.version == 0 ? LogLevel::warn : LogLevel::debug, "hello",
      {{"client", hello->client},
       {"version", answer.version},
       {"min", hello->min_version},
       {"max", hello->max_version},
       {"uid", peer_.uid},
       {"pid", peer_.pid}});
  queue(codec::encode(answer), nullptr);
}

void SessionLogic::dispatch(ByteView payload, SteadyTime now) {
  ++parts_.metrics.requests;
  CUBIND_FAULT_POINT("session.request");
  auto request = codec::decode_request(payload);
  if (!request.ok()) {
    const auto id = codec::decode_request_id(payload);
    if (!id.ok()) return lose_stream(std::move(request).error());
    return refuse(*id, std::move(request).error());
  }
  if (const auto* cancel = std::get_if<CancelRequest>(&*request)) {
    const auto found = calls_.find(cancel->id);  // unknown: it has ended meanwhile
    if (found != calls_.end()) found->second->cancel(now);
    return;
  }
  const auto id = id_of(*request);
  if (const auto needed = first_version_of(*request); needed > version_) {
    return refuse(id, {ErrorCode::invalid_argument, "request kind \"" + std::to_string(request->index()) +
                                                        "\" is of protocol version " + std::to_string(needed) +
                                                        ", this connection speaks " + std::to_string(version_)});
  }
  if (const auto found = calls_.find(id); found != calls_.end() && !found->second->finished()) {
    return refuse(id, {ErrorCode::invalid_argument, "id \"" + std::to_string(id) + "\" is in flight already"});
  }
  if (!parts_.access.may_ask(peer_)) {
    return refuse(id, {ErrorCode::permission_denied, "uid \"" + std::to_string(peer_.uid) +
                                                         "\" is in none of socket.allow_users, socket.allow_groups"});
  }
  if (calls_.size() >= limits::kMaxRequestsInFlight) {
    forget_finished();
    if (calls_.size() >= limits::kMaxRequestsInFlight) {
      return refuse(id, {ErrorCode::resource_exhausted, "id \"" + std::to_string(id) + "\" would be more than " +
                                                            std::to_string(limits::kMaxRequestsInFlight) +
                                                            " requests in flight on one connection"});
    }
  }
  serve(*std::move(request), now);
}

void SessionLogic::serve(Request request, SteadyTime now) {
  if (const char* kind = looking(request)) {
    const bool polled = std::holds_alternative<StatsRequest>(request) || std::holds_alternative<HealthRequest>(request);
    log(polled ? LogLevel::debug : LogLevel::info, "asked",
        {{"kind", kind}, {"uid", peer_.uid}, {"pid", peer_.pid}, {"id", id_of(request)}});
  }
  if (auto* kernels = std::get_if<KernelsRequest>(&request)) return start(std::move(*kernels), now);
  if (const auto* stats = std::get_if<StatsRequest>(&request)) return reply(parts_.admin.stats(*stats));
  if (const auto* health = std::get_if<HealthRequest>(&request)) return reply(parts_.admin.health(*health));
  if (const auto* explain = std::get_if<ExplainRequest>(&request)) {
    auto explained = parts_.admin.explain(*explain);
    if (!explained.ok()) return refuse(explain->id, std::move(explained).error());
    return reply(Reply(*std::move(explained)));
  }
  if (const auto* asked = std::get_if<ListRequest>(&request)) return start(asked->id, list(*asked), now);
  if (const auto* asked = std::get_if<TraceRequest>(&request)) {
    return start(asked->id, std::make_unique<TextCall>(sink(), asked->id, parts_.planner.trace()), now);
  }
  if (const auto* asked = std::get_if<NearestRequest>(&request)) {
    auto kernel = parts_.planner.plan_kernel(asked->kernel, asked->arch, asked->toolchain);
    if (!kernel.ok()) return refuse(asked->id, std::move(kernel).error());
    return start(asked->id, nearest(*asked, *kernel), now);
  }
  if (const auto* asked = std::get_if<ReadyRequest>(&request)) return declare_ready(*asked);
  if (auto* asked = std::get_if<ExportRequest>(&request)) {
    const auto id = asked->id;
    return start(id, std::make_unique<BundleExport>(parts_.store, parts_.executor, sink(), std::move(*asked)), now);
  }
  if (auto* asked = std::get_if<ImportRequest>(&request)) {
    const auto id = asked->id;
    if (!may_administer(id, "import")) return;
    if (import_ && import_->busy) {
      return refuse(id, {ErrorCode::invalid_argument, "import: the piece before has not been answered yet"});
    }
    return start(id, import(std::move(*asked)), now);
  }
  if (const auto* asked = std::get_if<ReloadRequest>(&request)) {
    if (may_administer(asked->id, "reload")) reload(*asked);
    return;
  }
  if (const auto* asked = std::get_if<PurgeRequest>(&request)) {
    if (may_administer(asked->id, "purge")) start(asked->id, purge(*asked), now);
  } else if (const auto* verify = std::get_if<VerifyRequest>(&request)) {
    if (!may_administer(verify->id, "verify")) return;
    const VerifyCall::Parts parts{parts_.store,    parts_.memory,  parts_.pool,
                                  parts_.executor, parts_.planner, parts_.clock};
    start(verify->id, std::make_unique<VerifyCall>(parts, sink(), *verify, now), now);
  }
}

void SessionLogic::start(KernelsRequest request, SteadyTime now) {
  auto planned = parts_.planner.plan(request);
  if (!planned.ok()) return refuse(request.id, std::move(planned).error());
  const auto id = request.id;
  start(id,
        std::make_unique<KernelsCall>(parts_.service, parts_.metrics, parts_.clock, sink(), peer_, std::move(request),
                                      *std::move(planned), now, ready_ || parts_.ready_uids.contains(peer_.uid)),
        now);
}

// A hit is answered whole in here and never gets into the table.
void SessionLogic::start(std::uint64_t id, std::unique_ptr<Call> call, SteadyTime now) {
  call->advance(now);
  if (!call->finished()) calls_[id] = std::move(call);
}

std::unique_ptr<Call> SessionLogic::list(const ListRequest& request) {
  constexpr auto most = static_cast<std::uint32_t>(limits::kMaxRecordsPerListReply);
  const auto limit = request.limit == 0 ? most : std::min(request.limit, most);
  return std::make_unique<DiskCall>(parts_.executor, sink(),
                                    [&store = parts_.store, &memory = parts_.memory, request, limit]() -> Reply {
                                      auto records = list_records(store, memory, request.after, limit);
                                      if (!records.ok())
                                        return ErrorReply{request.id, records.error().code, records.error().message};
                                      return ListReply{request.id, *std::move(records)};
                                    });
}

std::unique_ptr<Call> SessionLogic::purge(const PurgeRequest& request) {
  log(LogLevel::warn, "purge",
      {{"key", request.key.is_zero() ? "all" : request.key.short_hex()},
       {"uid", peer_.uid},
       {"pid", peer_.pid},
       {"id", request.id}});
  return std::make_unique<DiskCall>(
      parts_.executor, sink(), [&store = parts_.store, &memory = parts_.memory, request]() -> Reply {
        const auto purged = request.key.is_zero() ? purge_all(store, memory) : purge_record(store, memory, request.key);
        if (!purged.ok()) return ErrorReply{request.id, purged.error().code, purged.error().message};
        return PurgeReply{request.id, purged->records, purged->bytes};
      });
}

std::unique_ptr<Call> SessionLogic::nearest(const NearestRequest& request, const KernelRef& kernel) {
  return std::make_unique<DiskCall>(parts_.executor, sink(),
                                    [&store = parts_.store, id = request.id, kernel]() -> Reply {
                                      auto found = nearest_record(store, kernel->key, kernel->ingredients);
                                      if (!found.ok()) return ErrorReply{id, found.error().code, found.error().message};
                                      found->id = id;
                                      return *std::move(found);
                                    });
}

std::unique_ptr<Call> SessionLogic::import(ImportRequest request) {
  if (!import_) import_ = std::make_shared<BundleImport>(parts_.import_folder);
  auto under_way = request.last ? std::exchange(import_, nullptr) : import_;
  under_way->busy = true;
  return std::make_unique<DiskCall>(
      parts_.executor, sink(),
      [&store = parts_.store, &metrics = parts_.metrics, &planner = parts_.planner, &executor = parts_.executor,
       policy = parts_.imports, peer = peer_, under_way = std::move(under_way),
       asked = std::make_shared<const ImportRequest>(std::move(request))]() -> Reply {
        const auto done = [&]() -> Result<std::string> {
          CUBIND_CHECK(under_way->append(asked->data));
          if (!asked->last) return std::string("more is expected");
          CUBIND_TRY(const auto imported, under_way->finish(policy, store));
          executor.on_loop([&metrics, &planner, imported] {
            metrics.records_imported += imported.records;
            for (const auto& toolchain : imported.toolchains) planner.learn(known_toolchain(toolchain));
          });
          return "imported " + std::to_string(imported.records) + " records, " + std::to_string(imported.bytes) +
                 " bytes";
        }();
        under_way->busy = false;
        if (asked->last || !done.ok()) {
          log(done.ok() ? LogLevel::warn : LogLevel::error, "import",
              {{done.ok() ? "done" : "error", done.ok() ? *done : to_string(done.error())},
               {"uid", peer.uid},
               {"pid", peer.pid},
               {"id", asked->id}});
        }
        if (done.ok()) return DoneReply{asked->id, *done};
        executor.on_loop([&metrics] { ++metrics.imports_refused; });
        return ErrorReply{asked->id, done.error().code, done.error().message};
      });
}

void SessionLogic::declare_ready(const ReadyRequest& request) {
  const bool user = request.scope == ReadyScope::user;
  if (!user) {
    ready_ = !request.off;
  } else if (request.off) {
    parts_.ready_uids.erase(peer_.uid);
  } else {
    parts_.ready_uids.insert(peer_.uid);
  }
  log(LogLevel::info, "ready",
      {{"scope", user ? "user" : "connection"},
       {"off", request.off ? 1 : 0},
       {"uid", peer_.uid},
       {"pid", peer_.pid},
       {"id", request.id}});
  reply(Reply(
      DoneReply{request.id, request.off ? "compiles are no alarm any more" : "compiles are an alarm from here on"}));
}

void SessionLogic::reload(const ReloadRequest& request) {
  if (!parts_.reload) {
    return refuse(request.id, {ErrorCode::not_supported, "this daemon was started without anything to read again"});
  }
  auto done = parts_.reload();
  if (!done.ok()) return refuse(request.id, std::move(done).error());
  reply(Reply(DoneReply{request.id, *std::move(done)}));
}

bool SessionLogic::may_administer(std::uint64_t id, const char* what) {
  if (parts_.access.may_administer(peer_)) return true;
  refuse(id, {ErrorCode::permission_denied, "uid \"" + std::to_string(peer_.uid) + "\" may not " + what +
                                                ": that is for root, the daemon's user and those in [admin]"});
  return false;
}

void SessionLogic::refuse(std::uint64_t id, Error error) {
  ++parts_.metrics.requests_refused;
  log(LogLevel::warn, "refused", {{"error", to_string(error)}, {"uid", peer_.uid}, {"pid", peer_.pid}, {"id", id}});
  reply(Reply(ErrorReply{id, error.code, std::move(error.message)}));
}

void SessionLogic::lose_stream(Error error) {
  ++parts_.metrics.protocol_errors;
  log(LogLevel::warn, "protocol_error", {{"error", to_string(error)}, {"uid", peer_.uid}, {"pid", peer_.pid}});
  calls_.clear();  // nobody will be told apart any more
  reply(Reply(ErrorReply{0, error.code, std::move(error.message)}));
  state_ = State::ending;
}

void SessionLogic::reply(const Reply& reply) {
  queue(codec::encode(reply), nullptr);
}

void SessionLogic::reply(KernelReply reply, SharedBytes code) {
  CUBIND_FAULT_POINT("session.before_reply");
  queue(codec::encode(Reply(std::move(reply))), std::move(code));
}

void SessionLogic::queue(Bytes frame, SharedBytes code) {
  output_.push(std::move(frame), std::move(code));
  if (!inside_) output_ready_();
}

bool SessionLogic::has_room() const {
  return output_.bytes() < limits::kMaxQueuedReplyBytes;
}

void SessionLogic::tick(SteadyTime now) {
  const Inside inside(inside_);
  forget_finished();
  if (state_ == State::greeting && now >= opened_ + limits::kGreetingTimeout) {
    return lose_stream({ErrorCode::invalid_argument,
                        "no greeting came within " + std::to_string(limits::kGreetingTimeout.count()) + " s"});
  }
  for (const auto& [id, call] : calls_) {
    const auto wakeup = call->next_wakeup();
    if (wakeup.has_value() && now >= *wakeup) call->tick(now);
  }
}

std::optional<SteadyTime> SessionLogic::next_wakeup() const {
  std::optional<SteadyTime> next;
  if (state_ == State::greeting) next = opened_ + limits::kGreetingTimeout;
  for (const auto& [id, call] : calls_) {
    const auto wakeup = call->next_wakeup();
    if (wakeup.has_value() && (!next.has_value() || *wakeup < *next)) next = wakeup;
  }
  return next;
}

void SessionLogic::end() {
  state_ = State::ending;
}

bool SessionLogic::idle() const {
  return std::all_of(calls_.begin(), calls_.end(), [](const auto& entry) { return entry.second->finished(); });
}

void SessionLogic::forget_finished() {
  std::erase_if(calls_, [](const auto& entry) { return entry.second->finished(); });
}

}  // namespace cubind
