// One connection without I/O: bytes and the time go in, bytes come out. Greeting, dispatch, ids, the bound on requests
// in flight, rights, back-pressure and the end of the conversation are decided here; daemon/session moves the bytes.
// Belongs to the loop's thread.
//
// Errors: a frame that breaks the framing loses the stream, so the connection ends after an ErrorReply with id 0. A
// request that cannot be decoded, is not allowed, or repeats an id in flight is answered with an ErrorReply of its id,
// and the conversation goes on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "daemon/admin.hpp"
#include "daemon/bundle_import.hpp"
#include "daemon/call.hpp"
#include "daemon/kernel_service.hpp"
#include "daemon/output_queue.hpp"
#include "daemon/peer.hpp"
#include "daemon/request_planner.hpp"
#include "protocol/frame.hpp"

namespace cubind {

class SessionLogic final : private ReplySink {
 public:
  // What all connections share; outlives them.
  struct Parts {
    KernelService& service;
    RequestPlanner& planner;
    Admin& admin;
    ArtifactStore& store;
    MemoryStore& memory;
    CompilePool& pool;
    Executor& executor;
    Metrics& metrics;
    const Clock& clock;
    AccessRules access;
    std::string daemon;                           // name and version, for the greeting
    std::function<Result<std::string>()> reload;  // reads the config again; what came of it, or why it was refused
    ImportPolicy imports;
    std::string import_folder;           // for bundles that are not whole yet
    std::set<std::uint32_t> ready_uids;  // whose connections are all ready
  };

  // `output_ready` is called when a reply was queued outside of received(), written() and tick().
  SessionLogic(Parts& parts, Peer peer, std::function<void()> output_ready);
  ~SessionLogic() override;
  SessionLogic(const SessionLogic&) = delete;
  SessionLogic& operator=(const SessionLogic&) = delete;

  // Input: read into input_space(), then tell how much came. Not while wants_input() is false.
  std::span<std::byte> input_space();
  void received(std::size_t bytes, SteadyTime now);
  bool wants_input() const { return state_ != State::ending && has_room(); }

  // Output: write from output(), then tell how much went.
  const OutputQueue& output() const { return output_; }
  void written(std::size_t bytes, SteadyTime now);

  void tick(SteadyTime now);
  std::optional<SteadyTime> next_wakeup() const;

  // No more requests are taken; what is in flight goes on.
  void end();
  bool idle() const;                                                                  // no request is in flight
  bool over() const { return state_ == State::ending && output_.empty() && idle(); }  // time to close

 private:
  enum class State { greeting, serving, ending };

  void reply(const Reply& reply) override;
  void reply(KernelReply reply, SharedBytes code) override;
  bool has_room() const override;
  ReplySink& sink() { return *this; }

  void process(SteadyTime now);
  void greet(ByteView payload);
  void dispatch(ByteView payload, SteadyTime now);
  void serve(Request request, SteadyTime now);
  void start(KernelsRequest request, SteadyTime now);
  void start(std::uint64_t id, std::unique_ptr<Call> call, SteadyTime now);
  std::unique_ptr<Call> purge(const PurgeRequest& request);
  std::unique_ptr<Call> list(const ListRequest& request);
  std::unique_ptr<Call> nearest(const NearestRequest& request, const KernelRef& kernel);
  std::unique_ptr<Call> import(ImportRequest request);
  void declare_ready(const ReadyRequest& request);
  void reload(const ReloadRequest& request);
  bool may_administer(std::uint64_t id, const char* what);
  void refuse(std::uint64_t id, Error error);
  void lose_stream(Error error);
  void forget_finished();
  void queue(Bytes frame, SharedBytes code);

  Parts& parts_;
  Peer peer_;
  std::function<void()> output_ready_;
  State state_ = State::greeting;
  std::uint16_t version_ = 0;             // agreed on
  std::shared_ptr<BundleImport> import_;  // under way
  bool ready_ = false;                    // this connection has declared itself so
  SteadyTime opened_;
  FrameReader reader_;
  OutputQueue output_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls_;
  bool inside_ = false;  // of received(), written() or tick(): the caller looks at output() afterwards
};

}  // namespace cubind
