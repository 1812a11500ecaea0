// CompilePool over zygotes, one for each installed toolchain. Belongs to the thread that runs the io_context: every
// call and every callback is there.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/compile_pool.hpp"
#include "daemon/compile_queue.hpp"
#include "daemon/zygote.hpp"
#include "protocol/limits.hpp"

namespace cubind {

struct CompilePoolConfig {
  std::string worker_path;    // of cubind-worker
  std::uint32_t workers = 0;  // compiles at once; 0 = what the machine allows (daemon/machine_limits.hpp)
  std::size_t max_queue = limits::kMaxQueuedCompiles;
  std::chrono::seconds cpu_time = limits::kCompileCpuTime;
  std::chrono::seconds timeout = limits::kCompileTimeout;
  std::uint64_t memory_bytes = limits::kCompileMemoryBytes;
};

class ZygoteCompilePool final : public CompilePool, private Zygote::Owner {
 public:
  // Starts a zygote for each installed toolchain and returns at once; jobs wait until theirs is ready.
  ZygoteCompilePool(boost::asio::io_context& io, const std::vector<Toolchain>& toolchains, CompilePoolConfig config);
  ~ZygoteCompilePool() override;  // kills what runs; no `done` is called any more

  Result<JobId> submit(CompileUnit unit, Priority priority, std::uint32_t owner, Done done) override;
  void share(JobId job, std::uint32_t owner) override;
  void set_priority(JobId job, Priority priority) override;
  void cancel(JobId job) override;
  bool is_running(JobId job) const override;
  void drain() override;
  CompilePoolStats stats() const override;

  std::vector<int> zygote_pids() const;  // for tests and health

 private:
  struct Job {
    CompileUnit unit;
    Priority priority = Priority::foreground;
    std::uint32_t owner = 0;
    Done done;
    Zygote* zygote = nullptr;
    bool running = false;
    bool retried = false;
    bool cancelled = false;
  };

  void on_ready(Zygote& zygote) override;
  void on_down(Zygote& zygote, const Error& why) override;
  void on_done(JobId job, CompileResult result) override;
  void on_lost(JobId job, const Error& why) override;

  void dispatch();
  void finish(JobId id, CompileResult result);
  void finish_later(std::vector<JobId> ids, Error why);  // queued jobs, from inside a call

  boost::asio::io_context& io_;
  const CompilePoolConfig config_;
  CompileQueue queue_;
  std::unordered_map<JobId, Job> jobs_;
  std::map<std::string, std::unique_ptr<Zygote>> zygotes_;      // by Toolchain::id
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // posted functions ask it first
  CompilePoolStats stats_;
  JobId last_id_ = 0;
  bool draining_ = false;
};

}  // namespace cubind
