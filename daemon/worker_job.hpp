// The child that a zygote forks for one compile: limits, compile, answer, exit. Runs with NVRTC already loaded.
#pragma once

#include "codegen/nvrtc/nvrtc_api.hpp"
#include "daemon/worker_protocol.hpp"

namespace cubind::worker {

struct JobFds {
  int unit = -1;        // file to read the unit from
  int result = -1;      // pipe to write the result to
  int last_words = -1;  // file that becomes standard error: what an abort says there decides what it means
};

// Never returns. Ends with exit code 0 once the result, of whatever kind, is written.
[[noreturn]] void run_job(const NvrtcApi& api, const Message& job, const JobFds& fds, int parent_pid);

// One program from source to result; also what a zygote warms up with.
CompileResult compile_once(const NvrtcApi& api, const Unit& unit);

}  // namespace cubind::worker
