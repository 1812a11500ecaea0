// The daemon a GPU test or bench asks: the one at $CUBIND_SOCKET, or one of its own, started from the `cubind` beside
// the program (../bin, ../../bin or the same folder; $CUBIND_DAEMON names another) with an empty store in a temporary
// folder, ended and removed at the end.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.hpp"

namespace cubind::test {

class GpuDaemon {
 public:
  // unavailable, with what was looked for, if there is none.
  static Result<GpuDaemon> find_or_start();
  GpuDaemon(GpuDaemon&& other) noexcept;
  GpuDaemon& operator=(GpuDaemon&&) = delete;
  ~GpuDaemon();

  const std::string& socket() const { return socket_; }

 private:
  GpuDaemon() = default;
  std::string socket_, folder_;
  pid_t pid_ = 0;
};

// Path of the running program, and its folder.
std::string program_path();
std::string program_folder();

}  // namespace cubind::test
