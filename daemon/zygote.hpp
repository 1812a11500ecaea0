// One cubind-worker process: started in the background, restarted with a growing pause when it dies, given jobs when it
// is ready. Everything happens on the executor of the io_context, one thread; the owner's functions are called from
// there, never from inside a call to this object.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/compiler.hpp"
#include "codegen/nvrtc/toolchain.hpp"

namespace boost::asio {
class io_context;
}

namespace cubind {

struct ZygoteConfig {
  std::string worker_path;  // of cubind-worker, absolute
  Toolchain toolchain;
  std::uint64_t memory_bytes = 0;    // of a child's address space; 0 = no limit
  std::chrono::seconds cpu_time{0};  // of the processor, for a child; 0 = no limit
  std::chrono::seconds timeout{0};   // of a child by the clock; 0 = no limit
};

class Zygote {
 public:
  using JobId = std::uint64_t;

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_ready(Zygote& zygote) = 0;
    // It could not start: the toolchain refuses, or the process keeps dying. It will be tried again.
    virtual void on_down(Zygote& zygote, const Error& why) = 0;
    virtual void on_done(JobId job, CompileResult result) = 0;
    virtual void on_lost(JobId job, const Error& why) = 0;  // the zygote died under it: nobody knows
  };

  // Starts the process; returns at once. `owner` outlives the zygote.
  Zygote(boost::asio::io_context& io, ZygoteConfig config, Owner& owner);
  ~Zygote();  // kills the process and with it its children; no function of the owner is called any more
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  const Toolchain& toolchain() const;
  bool ready() const;
  int pid() const;  // of the process now running, or -1; for tests and logs

  // Precondition: ready(). Ends in exactly one on_done() or on_lost().
  void run(JobId job, const CompileUnit& unit);
  // Kills the child; on_done(cancelled) follows when it is gone. Nothing if the job is not here.
  void cancel(JobId job);

 private:
  class Process;
  std::shared_ptr<Process> process_;  // handlers in flight keep it
};

}  // namespace cubind
