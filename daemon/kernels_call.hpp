// One KernelsRequest from start to summary: the tables, then each distinct kernel as it is ready, with the rules of the
// modes, the deadline, progress and cancel. Sans I/O.
#pragma once

#include <string>
#include <vector>

#include "daemon/call.hpp"
#include "daemon/kernel_service.hpp"
#include "daemon/peer.hpp"
#include "daemon/request_planner.hpp"
#include "daemon/single_flight.hpp"

namespace cubind {

class KernelsCall final : public Call, private FlightWaiter {
 public:
  // Everything referred to outlives the call. Nothing happens before the first advance(). `ready`: the asker has
  // declared that it has warmed up, so that a compile is an alarm.
  KernelsCall(KernelService& service, Metrics& metrics, const Clock& clock, ReplySink& sink, const Peer& peer,
              KernelsRequest request, PlannedRequest planned, SteadyTime received, bool ready = false);
  ~KernelsCall() override;

  void advance(SteadyTime now) override;
  void tick(SteadyTime now) override;
  std::optional<SteadyTime> next_wakeup() const override;
  void cancel(SteadyTime now) override;
  bool finished() const override { return finished_; }

 private:
  enum class State : std::uint8_t {
    unopened,  // not looked up yet
    reading,   // its flight reads the disk
    waiting,   // its flight compiles
    ready,     // the flight has ended; the answer waits for room
    answered,
  };
  struct Slot {
    KernelRef kernel;
    State state = State::unopened;
    bool first = false;  // this call started the flight
    SingleFlight::Ticket ticket = 0;
    Result<std::shared_ptr<const Artifact>> artifact{nullptr};  // while ready
    std::string failure_log;                                    // likewise
    Outcome outcome = Outcome::none;
  };

  void flight_missed(std::size_t index) override;
  void flight_done(std::size_t index, const FlightResult& result) override;

  void open(std::size_t index);
  void on_missed(std::size_t index);
  void raise_alarm(const PlannedKernel& kernel);
  void answer(Slot& slot, const Artifact& artifact, Outcome outcome);
  void answer_without(Slot& slot, ErrorCode code, std::string message, std::string failure_log = {});
  void give_up_open(ErrorCode code, const std::string& message);  // all that have no answer yet
  void leave(Slot& slot);
  void finish_if_done(SteadyTime now);
  void write_log(std::uint32_t elapsed_ms) const;
  bool wants_code(const KernelKey& key) const;

  KernelService& service_;
  Metrics& metrics_;
  const Clock& clock_;
  ReplySink& sink_;
  Peer peer_;
  KernelsRequest request_;
  PlannedRequest planned_;
  SteadyTime received_, next_progress_;
  bool alarms_;  // a compile for this request is one

  std::vector<Slot> slots_;  // one for each distinct kernel
  std::size_t next_table_ = 0, next_slot_ = 0;
  std::vector<std::size_t> ready_;  // indexes of slots that are ready, oldest first
  std::size_t reading_ = 0, answered_ = 0;
  SummaryReply summary_;
  std::uint64_t code_bytes_ = 0;
  double longest_compile_ms_ = 0;
  bool finished_ = false;
};

}  // namespace cubind
