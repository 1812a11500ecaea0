#include "daemon/verify_call.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/digest.hpp"
#include "daemon/record_list.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {
constexpr std::size_t kPage = 256;
}

VerifyCall::VerifyCall(const Parts& parts, ReplySink& sink, const VerifyRequest& request, SteadyTime received)
    : parts_(parts),
      sink_(sink),
      request_(request),
      received_(received),
      next_progress_(received + limits::kProgressInterval),
      self_(std::make_shared<VerifyCall*>(this)) {
  summary_.id = request.id;
}

VerifyCall::~VerifyCall() {
  self_.reset();
  for (const auto& [key, job] : jobs_) parts_.pool.cancel(job);
}

template <class Value>
void VerifyCall::on_disk(std::function<Value()> work, std::function<void(VerifyCall&, Value)> then) {
  auto& executor = parts_.executor;
  executor.on_disk_thread([&executor, weak = std::weak_ptr(self_), work = std::move(work), then = std::move(then)] {
    auto value = std::make_shared<Value>(work());
    executor.on_loop([weak, value, then] {
      if (const auto self = weak.lock(); self != nullptr && !(*self)->finished_) then(**self, std::move(*value));
    });
  });
}

void VerifyCall::advance(SteadyTime) {
  if (finished_) return;
  const std::size_t at_once = std::max<std::size_t>(1, parts_.pool.stats().workers);
  while (open_ < at_once && !waiting_.empty() && sink_.has_room()) {
    const auto record = std::move(waiting_.front());
    waiting_.pop_front();
    open(record);
  }
  if (waiting_.empty() && !last_page_ && !listing_) list_page();
  if (waiting_.empty() && last_page_ && open_ == 0) finish();
}

void VerifyCall::list_page() {
  listing_ = true;
  using Page = Result<std::vector<RecordSummary>>;
  on_disk<Page>(
      [&store = parts_.store, &memory = parts_.memory, key = request_.key, after = after_]() -> Page {
        if (key.is_zero()) return list_records(store, memory, after, kPage);
        CUBIND_TRY(auto record, find_record(store, memory, key));
        return std::vector{std::move(record)};
      },
      [](VerifyCall& call, Page page) { call.on_page(std::move(page)); });
}

void VerifyCall::on_page(Result<std::vector<RecordSummary>> page) {
  listing_ = false;
  if (!page.ok()) {
    finished_ = true;
    return sink_.reply(Reply(ErrorReply{request_.id, page.error().code, page.error().message}));
  }
  last_page_ = !request_.key.is_zero() || page->size() < kPage;
  if (!page->empty()) after_ = page->back().key;
  waiting_.insert(waiting_.end(), std::make_move_iterator(page->begin()), std::make_move_iterator(page->end()));
  summary_.total += static_cast<std::uint32_t>(page->size());
  advance(parts_.clock.now());
}

void VerifyCall::open(const RecordSummary& record) {
  ++open_;
  using Found = Result<std::optional<Artifact>>;
  on_disk<Found>(
      [&store = parts_.store, &memory = parts_.memory, key = record.key]() -> Found {
        CUBIND_TRY(auto found, store.get(key, {}));
        if (found.has_value()) return found;
        if (const auto in_memory = memory.get(key)) return std::optional(*in_memory);
        return std::optional<Artifact>();
      },
      [record](VerifyCall& call, Found found) { call.on_read(record, std::move(found)); });
}

void VerifyCall::on_read(const RecordSummary& record, Result<std::optional<Artifact>> found) {
  if (!found.ok()) return answer(record, false, to_string(found.error()), &SummaryReply::failed);
  if (!found->has_value()) {
    return answer(record, false, "the record failed its check and was removed", &SummaryReply::failed);
  }
  const auto kernel = parts_.planner.plan_record(record);
  if (!kernel.ok()) return answer(record, false, "not verified: " + kernel.error().message, &SummaryReply::pending);
  auto keyed = make_keyed_unit((*kernel)->descriptor, (*kernel)->config, (*kernel)->arch, *(*kernel)->toolchain);
  if (!keyed.ok()) return answer(record, false, "not verified: " + keyed.error().message, &SummaryReply::pending);

  auto job =
      parts_.pool.submit(std::move(keyed->unit), Priority::prewarm, kNoOwner,
                         [weak = std::weak_ptr(self_), record, stored = (*found)->cubin_digest](CompileResult result) {
                           const auto self = weak.lock();
                           if (self == nullptr || (*self)->finished_) return;
                           (*self)->on_compiled(record, stored, std::move(result));
                         });
  if (!job.ok()) return answer(record, false, "not verified: " + job.error().message, &SummaryReply::pending);
  jobs_[record.key] = *job;
}

void VerifyCall::on_compiled(const RecordSummary& record, const Digest& stored, CompileResult result) {
  jobs_.erase(record.key);
  if (!result.ok()) {
    const bool refused = result.error().code == ErrorCode::compile_failed;  // it compiled once: a mismatch
    return answer(record, false, to_string(result.error()), refused ? &SummaryReply::failed : &SummaryReply::pending);
  }
  summary_.compile_ms += result->wall_ms;
  on_disk<Digest>([cubin = std::make_shared<const Bytes>(std::move(result->cubin))] { return sha256(*cubin); },
                  [record, stored](VerifyCall& call, Digest made) { call.on_hashed(record, stored, made); });
}

void VerifyCall::on_hashed(const RecordSummary& record, const Digest& stored, const Digest& made) {
  ++summary_.built;
  if (made == stored) return answer(record, true, "", nullptr);
  answer(record, false, "stored digest " + stored.short_hex() + ", recompiled " + made.short_hex(),
         &SummaryReply::failed);
}

void VerifyCall::answer(const RecordSummary& record, bool matches, std::string message,
                        std::uint32_t SummaryReply::*count) {
  --open_;
  if (count != nullptr) ++(summary_.*count);
  sink_.reply(Reply(VerifyReply{request_.id, record.key, record.name, matches, std::move(message)}));
  advance(parts_.clock.now());
}

void VerifyCall::finish() {
  finished_ = true;
  const auto elapsed = parts_.clock.now() - received_;
  summary_.elapsed_ms =
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count());
  sink_.reply(Reply(summary_));
}

void VerifyCall::tick(SteadyTime now) {
  if (finished_ || now < next_progress_) return;
  next_progress_ = now + limits::kProgressInterval;
  ProgressReply progress;
  progress.id = request_.id;
  progress.total = summary_.total;
  progress.ready = static_cast<std::uint32_t>(summary_.total - waiting_.size() - open_);
  for (const auto& [key, job] : jobs_) progress.compiling += parts_.pool.is_running(job) ? 1 : 0;
  progress.queued = progress.total - progress.ready - progress.compiling;
  progress.elapsed_ms =
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now - received_).count());
  if (sink_.has_room()) sink_.reply(Reply(progress));
}

std::optional<SteadyTime> VerifyCall::next_wakeup() const {
  if (finished_) return std::nullopt;
  return next_progress_;
}

void VerifyCall::cancel(SteadyTime) {
  if (finished_) return;
  summary_.pending += static_cast<std::uint32_t>(open_ + waiting_.size());
  waiting_.clear();
  finish();
  for (const auto& [key, job] : jobs_) parts_.pool.cancel(job);
  jobs_.clear();
}

}  // namespace cubind
