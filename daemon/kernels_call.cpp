#include "daemon/kernels_call.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "codegen/plan/planner.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

std::uint32_t ms_between(SteadyTime from, SteadyTime to) {
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::hit_memory: return "hit_memory";
    case Outcome::hit_disk: return "hit_disk";
    case Outcome::built: return "built";
    case Outcome::joined: return "joined";
    case Outcome::none: break;
  }
  return "none";
}

std::string_view to_string(RequestMode mode) {
  switch (mode) {
    case RequestMode::wait: return "wait";
    case RequestMode::hit_only: return "hit_only";
    case RequestMode::prefetch: return "prefetch";
  }
  return "unknown";
}

}  // namespace

KernelsCall::KernelsCall(KernelService& service, Metrics& metrics, const Clock& clock, ReplySink& sink,
                         const Peer& peer, KernelsRequest request, PlannedRequest planned, SteadyTime received,
                         bool ready)
    : service_(service),
      metrics_(metrics),
      clock_(clock),
      sink_(sink),
      peer_(peer),
      request_(std::move(request)),
      planned_(std::move(planned)),
      received_(received),
      next_progress_(received + limits::kProgressInterval),
      // Prewarming is meant to compile, also beside live traffic.
      alarms_(ready && request_.mode != RequestMode::prefetch && request_.priority == Priority::foreground) {
  slots_.resize(planned_.kernels.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].kernel = std::move(planned_.kernels[i]);
  std::sort(request_.held.begin(), request_.held.end());
  summary_.id = request_.id;
  summary_.total = static_cast<std::uint32_t>(slots_.size());
}

KernelsCall::~KernelsCall() {
  for (auto& slot : slots_) leave(slot);
}

void KernelsCall::advance(SteadyTime now) {
  if (finished_) return;
  for (; next_table_ < planned_.layers.size() && sink_.has_room(); ++next_table_) {
    const auto& layer = *planned_.layers[next_table_];
    TableReply table{request_.id, static_cast<std::uint32_t>(next_table_), layer.rows, {}};
    for (const auto& kernel : layer.kernels) table.kernels.push_back(kernel->key);
    sink_.reply(Reply(std::move(table)));
  }
  if (next_table_ < planned_.layers.size()) return;

  std::size_t sent = 0;
  for (; sent < ready_.size() && sink_.has_room(); ++sent) {
    Slot& slot = slots_[ready_[sent]];
    if (slot.state != State::ready) continue;
    const auto artifact = std::exchange(slot.artifact, std::shared_ptr<const Artifact>());
    if (artifact.ok()) {
      answer(slot, **artifact, slot.outcome);
    } else {
      answer_without(slot, artifact.error().code, artifact.error().message, std::move(slot.failure_log));
    }
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(sent));

  // The bound on reads is what keeps a slow reader from pinning a whole store in memory.
  while (next_slot_ < slots_.size() && sink_.has_room() && reading_ < limits::kMaxReadsPerRequest) open(next_slot_++);
  finish_if_done(now);
}

void KernelsCall::open(std::size_t index) {
  Slot& slot = slots_[index];
  // Only who waits is foreground; the others' compiles are queued for later.
  const auto priority = request_.mode == RequestMode::wait ? request_.priority : Priority::prewarm;
  auto asked = service_.get_or_build(slot.kernel, priority, *this, index, peer_.uid);
  if (asked.hit != nullptr) return answer(slot, *asked.hit, Outcome::hit_memory);
  slot.ticket = asked.flight.ticket;
  slot.first = asked.flight.first;
  slot.state = State::reading;
  ++reading_;
  if (asked.flight.missed) on_missed(index);
}

void KernelsCall::flight_missed(std::size_t index) {
  on_missed(index);
  advance(clock_.now());
}

void KernelsCall::on_missed(std::size_t index) {
  Slot& slot = slots_[index];
  slot.state = State::waiting;
  --reading_;
  if (slot.kernel->toolchain == nullptr) {
    answer_without(slot, ErrorCode::not_found, "key \"" + slot.kernel->key.hex() + "\" is in no record");
    return;
  }
  if (alarms_ && service_.needed_when_ready(slot.kernel->key)) raise_alarm(*slot.kernel);
  if (request_.mode != RequestMode::wait) answer_without(slot, ErrorCode::pending, "the compile is queued");
}

void KernelsCall::raise_alarm(const PlannedKernel& kernel) {
  ++metrics_.compiles_after_ready;
  log(LogLevel::warn, "compile_after_ready",
      {{"key", kernel.key.short_hex()},
       {"name", short_name(kernel.descriptor) + "-" + config_name(kernel.config)},
       {"arch", cubind::to_string(kernel.arch)},
       {"uid", peer_.uid},
       {"pid", peer_.pid},
       {"id", request_.id}});
}

void KernelsCall::flight_done(std::size_t index, const FlightResult& result) {
  Slot& slot = slots_[index];
  if (slot.state == State::reading) --reading_;
  slot.state = State::ready;
  slot.ticket = 0;
  slot.artifact = result.artifact;
  slot.failure_log = result.failure_log;
  slot.outcome = !result.built ? Outcome::hit_disk : slot.first ? Outcome::built : Outcome::joined;
  ready_.push_back(index);
  advance(clock_.now());
}

bool KernelsCall::wants_code(const KernelKey& key) const {
  return request_.with_code && request_.mode != RequestMode::prefetch &&
         !std::binary_search(request_.held.begin(), request_.held.end(), key);
}

void KernelsCall::answer(Slot& slot, const Artifact& artifact, Outcome outcome) {
  const auto within = [](const VersionRange& range, std::uint32_t value) {
    return range.min <= value && value <= range.max;
  };
  if (!within(request_.launch_abi, artifact.info.launch_abi) ||
      !within(request_.weight_layout, artifact.info.weight_layout)) {  // possible only by key: plans are within
    return answer_without(slot, ErrorCode::not_supported,
                          "key \"" + artifact.key.hex() + "\" has launch_abi " +
                              std::to_string(artifact.info.launch_abi) + " and weight_layout " +
                              std::to_string(artifact.info.weight_layout) + ", which the client does not understand");
  }
  slot.state = State::answered;
  ++answered_;
  switch (outcome) {
    case Outcome::hit_memory: ++summary_.hits_memory, ++metrics_.hits_memory; break;
    case Outcome::hit_disk: ++summary_.hits_disk, ++metrics_.hits_disk; break;
    case Outcome::built:
      ++summary_.built, ++metrics_.built;
      summary_.compile_ms += artifact.info.compile_ms;
      break;
    case Outcome::joined: ++summary_.joined, ++metrics_.joined; break;
    case Outcome::none: break;
  }
  if (outcome == Outcome::built || outcome == Outcome::joined) {
    longest_compile_ms_ = std::max(longest_compile_ms_, artifact.info.compile_ms);
    metrics_.wait_ms += ms_between(received_, clock_.now());
  }
  slot.outcome = outcome;

  KernelReply reply;
  reply.id = request_.id;
  reply.key = artifact.key;
  reply.outcome = outcome;
  reply.info = artifact.info;
  reply.info.log.clear();
  reply.cubin_digest = artifact.cubin_digest;
  if (wants_code(artifact.key)) {
    reply.code_bytes = static_cast<std::uint32_t>(artifact.cubin->size());
    code_bytes_ += reply.code_bytes;
    sink_.reply(std::move(reply), artifact.cubin);
  } else {
    sink_.reply(std::move(reply), nullptr);
  }
}

void KernelsCall::answer_without(Slot& slot, ErrorCode code, std::string message, std::string failure_log) {
  leave(slot);
  slot.state = State::answered;
  slot.outcome = Outcome::none;
  ++answered_;
  if (code == ErrorCode::pending) {
    ++summary_.pending, ++metrics_.pending;
  } else {
    ++summary_.failed, ++metrics_.failed;
  }
  KernelReply reply;
  reply.id = request_.id;
  reply.key = slot.kernel->key;
  reply.code = code;
  reply.message = std::move(message);
  reply.info.log = std::move(failure_log);
  sink_.reply(std::move(reply), nullptr);
}

void KernelsCall::leave(Slot& slot) {
  if (slot.ticket == 0) return;
  if (slot.state == State::reading) --reading_;
  service_.leave(slot.kernel->key, std::exchange(slot.ticket, 0));
}

void KernelsCall::give_up_open(ErrorCode code, const std::string& message) {
  for (auto& slot : slots_) {
    if (slot.state != State::answered) answer_without(slot, code, message);
  }
  next_slot_ = slots_.size();
  next_table_ = planned_.layers.size();
  ready_.clear();
}

void KernelsCall::cancel(SteadyTime now) {
  if (finished_) return;
  ++metrics_.requests_cancelled;
  give_up_open(ErrorCode::cancelled, "the client withdrew");
  finish_if_done(now);
}

void KernelsCall::tick(SteadyTime now) {
  if (finished_) return;
  if (request_.deadline_ms != 0 && now >= received_ + std::chrono::milliseconds(request_.deadline_ms)) {
    give_up_open(ErrorCode::pending, "the deadline of " + std::to_string(request_.deadline_ms) + " ms has passed");
    return finish_if_done(now);
  }
  if (now < next_progress_) return;
  next_progress_ = now + limits::kProgressInterval;
  ProgressReply progress;
  progress.id = request_.id;
  progress.total = summary_.total;
  progress.ready = static_cast<std::uint32_t>(answered_ + ready_.size());
  for (const auto& slot : slots_) {
    if (slot.state == State::waiting && service_.is_compiling(slot.kernel->key)) ++progress.compiling;
  }
  progress.queued = progress.total - progress.ready - progress.compiling;
  progress.elapsed_ms = ms_between(received_, now);
  if (sink_.has_room()) sink_.reply(Reply(progress));  // who is behind in reading hears from us anyhow
}

std::optional<SteadyTime> KernelsCall::next_wakeup() const {
  if (finished_) return std::nullopt;
  if (request_.deadline_ms == 0) return next_progress_;
  return std::min(next_progress_, received_ + std::chrono::milliseconds(request_.deadline_ms));
}

void KernelsCall::finish_if_done(SteadyTime now) {
  if (finished_ || answered_ != slots_.size()) return;
  finished_ = true;
  summary_.elapsed_ms = ms_between(received_, now);
  sink_.reply(Reply(summary_));
  write_log(summary_.elapsed_ms);
}

void KernelsCall::write_log(std::uint32_t elapsed_ms) const {
  if (log_level() > LogLevel::info) return;
  const auto compile_ms = static_cast<std::uint32_t>(longest_compile_ms_);
  const auto queue_ms = elapsed_ms > compile_ms ? elapsed_ms - compile_ms : 0;
  if (slots_.size() == 1) {
    const Slot& slot = slots_.front();
    const std::string_view outcome = slot.outcome != Outcome::none ? to_string(slot.outcome)
                                     : summary_.pending != 0       ? std::string_view("pending")
                                                                   : std::string_view("failed");
    log(LogLevel::info, "get",
        {{"key", slot.kernel->key.short_hex()},
         {"outcome", outcome},
         {"arch", cubind::to_string(request_.arch)},
         {"queue_ms", queue_ms},
         {"compile_ms", compile_ms},
         {"bytes", code_bytes_},
         {"uid", peer_.uid},
         {"pid", peer_.pid},
         {"id", request_.id}});
    return;
  }
  log(LogLevel::info, "batch",
      {{"mode", to_string(request_.mode)},
       {"layers", planned_.layers.size()},
       {"kernels", summary_.total},
       {"hits_memory", summary_.hits_memory},
       {"hits_disk", summary_.hits_disk},
       {"built", summary_.built},
       {"joined", summary_.joined},
       {"pending", summary_.pending},
       {"failed", summary_.failed},
       {"arch", cubind::to_string(request_.arch)},
       {"ms", elapsed_ms},
       {"compile_ms", compile_ms},
       {"bytes", code_bytes_},
       {"uid", peer_.uid},
       {"pid", peer_.pid},
       {"id", request_.id}});
}

}  // namespace cubind
