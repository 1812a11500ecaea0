// Starts cubind-worker: no inherited environment, no descriptor but the control socket, default signals, a process
// group of its own (a terminal's interrupt is for the daemon, which then lets running compiles finish), standard error
// shared.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cubind {

struct SpawnedWorker {
  int pid = -1;      // to be reaped by the caller
  UniqueFd pidfd;    // readable when it has ended
  UniqueFd control;  // our end of the control socket, non-blocking
};

// unavailable if the program cannot be run (the message names it), resource_exhausted if the system has no more
// processes or descriptors.
Result<SpawnedWorker> spawn_worker(const std::string& path, const std::vector<std::string>& arguments);

}  // namespace cubind
