// A real daemon in a folder of its own: socket, store, log, and a copy of the counting NVRTC as its only toolchain.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "bench/service/programs.hpp"
#include "client/client.hpp"

namespace cubind::bench {

class DaemonUnderTest {
 public:
  struct Options {
    unsigned workers = 0;                // 0: as the daemon chooses
    std::string fault;                   // CUBIND_FAULT, for builds that have fault points
    std::vector<std::string> arguments;  // more flags
  };

  // Makes the folder; an existing store in it is kept.
  static Result<DaemonUnderTest> prepare(const Programs& programs, const std::string& name);

  Status start(const Options& options);   // returns when a greeting was answered
  Status launch(const Options& options);  // returns when the process was started
  void kill();                            // SIGKILL, and waits
  Status stop();                          // SIGTERM, then waits; the error says how it ended
  // Waits until it has ended by itself: the status as waitpid gives it; timed_out if it lives on.
  Result<int> wait_for_end(std::chrono::milliseconds patience);
  Result<std::unique_ptr<Client>> connect(const std::string& client_name) const;

  int pid() const { return process_.pid(); }
  std::uint64_t compiles() const;  // since prepare(), over restarts
  // When the last counted compile ended in its worker, by the wall clock.
  std::chrono::system_clock::time_point last_compile_ended() const;

  std::uint64_t resident_bytes() const;       // of the running process; 0 if it is gone
  std::uint64_t peak_resident_bytes() const;  // the most it ever had
  std::uint64_t open_descriptors() const;

  const std::string& socket() const { return socket_; }
  std::string store_root() const { return folder_ + "/store"; }
  const std::string& toolchain_path() const { return toolchain_; }
  std::string log_file() const { return folder_ + "/log"; }

 private:
  Programs programs_;
  std::string folder_, socket_, toolchain_;
  ChildProcess process_;
};

}  // namespace cubind::bench
