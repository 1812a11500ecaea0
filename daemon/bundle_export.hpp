// One ExportRequest: the records and their cubins as a bundle (cache/bundle.hpp) in chunks, as fast as the reader takes
// them; no more than one cubin beyond the connection's queue is in memory. Reading on disk threads. Sans I/O.
#pragma once

#include <memory>
#include <vector>

#include "cache/artifact_store.hpp"
#include "cache/record.hpp"
#include "daemon/call.hpp"
#include "daemon/executor.hpp"

namespace cubind {

class BundleExport final : public Call {
 public:
  BundleExport(ArtifactStore& store, Executor& executor, ReplySink& sink, ExportRequest request);

  void advance(SteadyTime now) override;
  void tick(SteadyTime) override {}
  std::optional<SteadyTime> next_wakeup() const override { return std::nullopt; }
  void cancel(SteadyTime now) override;
  bool finished() const override { return finished_; }

 private:
  struct Plan {  // belongs to the piece of disk work that runs: there is one at a time
    std::vector<KernelKey> keys;
    bool listed = false, named = false;  // keys has all of them; the client named them
    std::size_t gathered = 0;            // of keys, into records
    bool begun = false;                  // head and manifest have been made
    std::vector<Record> records;
    std::vector<std::size_t> cubins;
    std::size_t next = 0;  // of cubins
  };
  struct Piece {
    Bytes bytes;  // may be none yet
    bool last = false;
  };
  // Each takes a disk thread for a moment only, so that others' look-ups get their turn.
  static Result<Piece> next_piece(ArtifactStore& store, Plan& plan);
  static Status gather(ArtifactStore& store, Plan& plan);

  void read_on();
  void on_read(Result<Piece> piece);
  void fail(const Error& error);

  ArtifactStore& store_;
  Executor& executor_;
  ReplySink& sink_;
  ExportRequest request_;
  std::shared_ptr<Plan> plan_ = std::make_shared<Plan>();
  Bytes read_;  // not sent yet, from sent_ on
  std::size_t sent_ = 0;
  bool reading_ = false, finished_ = false;
  std::shared_ptr<BundleExport*> self_;  // what late results look through: gone with the call
};

}  // namespace cubind
