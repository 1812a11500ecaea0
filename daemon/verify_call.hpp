// One VerifyRequest: each record is compiled again, at prewarm priority, and the new cubin's digest is compared with
// the stored one. Reads and hashing on disk threads; as many records at a time as the pool has workers. Sans I/O.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "cache/artifact_store.hpp"
#include "cache/memory_store.hpp"
#include "daemon/call.hpp"
#include "daemon/compile_pool.hpp"
#include "daemon/executor.hpp"
#include "daemon/request_planner.hpp"

namespace cubind {

class VerifyCall final : public Call {
 public:
  struct Parts {
    ArtifactStore& store;
    MemoryStore& memory;
    CompilePool& pool;
    Executor& executor;
    RequestPlanner& planner;
    const Clock& clock;
  };

  VerifyCall(const Parts& parts, ReplySink& sink, const VerifyRequest& request, SteadyTime received);
  ~VerifyCall() override;

  void advance(SteadyTime now) override;
  void tick(SteadyTime now) override;
  std::optional<SteadyTime> next_wakeup() const override;
  void cancel(SteadyTime now) override;
  bool finished() const override { return finished_; }

 private:
  template <class Value>
  void on_disk(std::function<Value()> work, std::function<void(VerifyCall&, Value)> then);
  void list_page();
  void on_page(Result<std::vector<RecordSummary>> page);
  void open(const RecordSummary& record);
  void on_read(const RecordSummary& record, Result<std::optional<Artifact>> found);
  void on_compiled(const RecordSummary& record, const Digest& stored, CompileResult result);
  void on_hashed(const RecordSummary& record, const Digest& stored, const Digest& made);
  void answer(const RecordSummary& record, bool matches, std::string message, std::uint32_t SummaryReply::*count);
  void finish();

  Parts parts_;
  ReplySink& sink_;
  VerifyRequest request_;
  SteadyTime received_, next_progress_;

  std::deque<RecordSummary> waiting_;
  KernelKey after_;         // where the next page begins
  bool last_page_ = false;  // there is none
  bool listing_ = false;    // a page is being read
  std::size_t open_ = 0;    // records being verified
  std::map<KernelKey, CompilePool::JobId> jobs_;
  SummaryReply summary_;
  bool finished_ = false;
  std::shared_ptr<VerifyCall*> self_;  // what late results look through: gone with the call
};

}  // namespace cubind
