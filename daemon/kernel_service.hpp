// The heart: from a planned kernel to its artifact, built at most once however many ask. Belongs to the loop's thread;
// reading the disk, checking a cubin and storing it run on disk threads, NVRTC in the pool's processes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "cache/artifact_store.hpp"
#include "cache/memory_store.hpp"
#include "codegen/kernel_builder.hpp"
#include "daemon/compile_pool.hpp"
#include "daemon/executor.hpp"
#include "daemon/metrics.hpp"
#include "daemon/request_planner.hpp"
#include "daemon/single_flight.hpp"

namespace cubind {

class KernelService {
 public:
  // All outlive the service, and the executor runs nothing of it any more when it is destroyed.
  using Builder =
      std::function<Result<Artifact>(const CompileUnit&, const GemmDescriptor&, const GemmConfig&, CompileOutput)>;
  struct Parts {
    MemoryStore& memory;
    ArtifactStore& store;
    CompilePool& pool;
    Executor& executor;
    const Clock& clock;
    Metrics& metrics;
    Builder build = make_artifact;  // from a compiler's output to an artifact; runs on disk threads
  };

  struct Asked {
    std::shared_ptr<const Artifact> hit;  // in memory: this is the answer
    SingleFlight::Joined flight;          // otherwise `waiter` hears from it
  };

  explicit KernelService(const Parts& parts);

  // A kernel without a toolchain (asked for by key) is found or not_found, never built.
  // `owner` is the uid that asks: what is built counts as his, in the queue and on the disk.
  Asked get_or_build(const KernelRef& kernel, Priority priority, FlightWaiter& waiter, std::size_t tag,
                     std::uint32_t owner);

  // The waiter withdraws. Its flight goes on, demoted if nobody else waits.
  void leave(const KernelKey& key, SingleFlight::Ticket ticket) { flights_.leave(key, ticket); }

  // Somebody who had declared itself ready needs this key's compile. True for the first of each compile.
  bool needed_when_ready(const KernelKey& key);

  bool is_compiling(const KernelKey& key) const;
  std::size_t flights() const { return flights_.size(); }

  // From now on misses are `unavailable`; what the pool runs is finished, what it has queued is refused. `idle` is
  // called once, later, when no flight is left.
  void drain(Executor::Work idle);
  bool draining() const { return draining_; }
  void cancel_running();  // the grace is over: running compiles end as `unavailable`

 private:
  struct Work {  // what a flight is at
    KernelRef kernel;
    std::uint32_t owner = kNoOwner;  // who began it
    CompilePool::JobId job = 0;      // 0 until its compile is queued
    bool needed_when_ready = false;
  };
  struct Read {  // what the disk says of a key
    Result<std::optional<Artifact>> found;
    std::optional<StoredFailure> failure;  // of an earlier compile, if nothing was found
  };

  void start(const KernelRef& kernel, std::uint32_t owner);
  void read(const KernelRef& kernel);
  void on_read(const KernelKey& key, Read read);
  void build(const KernelRef& kernel);
  void on_built(const KernelRef& kernel, std::shared_ptr<CompileUnit> unit, CompileResult result);
  void publish(const KernelRef& kernel, std::shared_ptr<CompileUnit> unit, CompileOutput output);
  void on_published(const KernelRef& kernel, Result<std::shared_ptr<const Artifact>> artifact, const Status& put);
  void finish(const KernelKey& key, FlightResult result);
  void tell_if_idle();
  void remember_failure(const KernelKey& key, const Error& error, const std::string& failure_log);

  Parts parts_;
  SingleFlight flights_;
  std::unordered_map<KernelKey, Work, DigestHash> work_;
  bool draining_ = false;
  Executor::Work idle_;
  bool cancelling_ = false;
};

}  // namespace cubind
