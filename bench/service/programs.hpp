// The programs and files that the figures are measured with. Each has a place beside this program in a build or bundle.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cubind::bench {

struct Programs {
  std::string daemon;       // cubind
  std::string worker;       // cubind-worker
  std::string counter;      // libcubind_nvrtc_counter.so
  std::string nvrtc;        // the NVRTC that it forwards to; empty: the one that it was linked with
  std::string boot_client;  // cubind-bench-boot-client
  std::string bare_nvrtc;   // cubind-bench-bare-nvrtc
  std::string bare_rocks;   // cubind-bench-bare-rocks
  std::string model;        // the example model's config.json
  std::string scratch;      // folder for stores, sockets and logs; on a disk
};

// Fills what is empty with the file of its usual name in `folder` (of this program) or ../lib; not_found names a file
// that is missing.
Status fill_in(Programs& programs, const std::string& folder);

// A child process with its standard output or error redirected. Killed and reaped with the object.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> environment;  // NAME=value; nothing is inherited
    std::string stderr_file;               // appended to; empty = this process's
    bool stdout_pipe = false;
  };

  static Result<ChildProcess> start(const std::vector<std::string>& command, const Options& options);
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  int pid() const { return pid_; }  // -1: none
  bool running();
  void signal(int number) const;
  // The exit status as waitpid gives it. Kills the process first if it has not ended by then.
  int wait(std::chrono::milliseconds patience);

  // The next line of standard output, without the newline; empty if there is none any more. timed_out, naming the
  // process, if it takes longer than that.
  Result<std::string> read_line(std::chrono::milliseconds patience);

 private:
  std::string name_;
  int pid_ = -1;
  UniqueFd stdout_;
};

// While it lives, this thread and all processes started from it run on one core.
class PinnedToCore {
 public:
  explicit PinnedToCore(int core);
  ~PinnedToCore();
  PinnedToCore(const PinnedToCore&) = delete;
  PinnedToCore& operator=(const PinnedToCore&) = delete;

 private:
  std::vector<unsigned char> before_;  // the cpu_set_t
};

}  // namespace cubind::bench
