// Each process writes to a pipe of its own: 'r' when it is ready, 'e' when it is through, then 'o' and its outcome, or
// 'x', the error's code and its message. It waits by reading from a pipe that nobody writes to, until the parent closes
// it: that wakes all of them together.
#include "bench/service/process_fleet.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace cubind::bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kReady = 'r', kThrough = 'e', kOutcome = 'o', kError = 'x';

struct Pipe {
  UniqueFd read, write;

  static Result<Pipe> make() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error{ErrorCode::resource_exhausted, "the fleet has no pipe"};
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
};

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);  // without a parent there is nobody to race for
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void wait_for_close(int fd) {
  char none;
  while (::read(fd, &none, 1) < 0 && errno == EINTR) {
  }
}

struct Process {
  pid_t pid = -1;
  UniqueFd report;
  std::string heard;      // not yet looked at
  bool reported = false;  // what is being waited for
};

class Fleet {
 public:
  Fleet(std::size_t outcome_bytes, milliseconds patience) : outcome_bytes_(outcome_bytes), patience_(patience) {}
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  ~Fleet() {
    for (const auto& process : processes_) {
      if (process.pid > 0) ::kill(process.pid, SIGKILL);
    }
    for (const auto& process : processes_) {
      if (process.pid > 0) ::waitpid(process.pid, nullptr, 0);
    }
  }

  using Work = std::function<Status(std::size_t, Race&, std::byte*)>;

  Status fork_all(std::size_t count, const Work& work) {
    CUBIND_TRY(start_, Pipe::make());
    CUBIND_TRY(end_, Pipe::make());
    for (std::size_t index = 0; index < count; ++index) {
      CUBIND_TRY(auto report, Pipe::make());
      const auto parent = ::getpid();
      const pid_t pid = ::fork();
      if (pid < 0)
        return Error{ErrorCode::resource_exhausted, "process " + std::to_string(index) + " cannot be forked"};
      if (pid == 0) run_child(index, work, report.write.get(), parent);
      auto& process = processes_.emplace_back();
      process.pid = pid;
      process.report = std::move(report.read);
    }
    return {};
  }

  void start() { start_.write.reset(); }
  void end() { end_.write.reset(); }

  // Waits until each has reported `step`; takes `bytes` more with it.
  Status wait_for(char step, const char* what, std::size_t bytes = 0) {
    const auto give_up = steady_clock::now() + patience_;
    for (auto& process : processes_) process.reported = false;
    for (;;) {
      std::vector<pollfd> sources;
      std::vector<std::size_t> waiting;
      for (std::size_t index = 0; index < processes_.size(); ++index) {
        if (processes_[index].reported) continue;
        sources.push_back({processes_[index].report.get(), POLLIN, 0});
        waiting.push_back(index);
      }
      if (waiting.empty()) return {};
      const auto left = std::chrono::ceil<milliseconds>(give_up - steady_clock::now()).count();
      if (left <= 0) return late(waiting.front(), what);
      ::poll(sources.data(), sources.size(), static_cast<int>(left));
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (sources[i].revents != 0) CUBIND_CHECK(listen(waiting[i], step, what, bytes));
      }
    }
  }

  std::vector<Bytes> outcomes() const {
    std::vector<Bytes> all;
    for (const auto& process : processes_) all.push_back(to_bytes(std::string_view(process.heard).substr(1)));
    return all;
  }

 private:
  [[noreturn]] void run_child(std::size_t index, const Work& work, int report, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    start_.write.reset();
    end_.write.reset();
    Race race(report, start_.read.get(), end_.read.get());
    std::string outcome(outcome_bytes_, '\0');
    const auto status = work(index, race, reinterpret_cast<std::byte*>(outcome.data()));
    if (status.ok()) {
      write_all(report, kOutcome + outcome);
    } else {
      const auto code = static_cast<std::uint16_t>(status.error().code);
      std::string words(1, kError);
      words.append(reinterpret_cast<const char*>(&code), sizeof(code));
      write_all(report, words + status.error().message);
    }
    ::_exit(0);
  }

  std::string name(std::size_t index) const {
    return "process " + std::to_string(index) + " of " + std::to_string(processes_.size()) + " (pid " +
           std::to_string(processes_[index].pid) + ")";
  }

  Error late(std::size_t index, const char* what) const {
    return {ErrorCode::timed_out,
            name(index) + " was not " + what + " within \"" + std::to_string(patience_.count()) + "\" ms"};
  }

  Status listen(std::size_t index, char step, const char* what, std::size_t bytes) {
    auto& process = processes_[index];
    char buffer[4096];
    const auto got = ::read(process.report.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) return {};
    if (got > 0) process.heard.append(buffer, static_cast<std::size_t>(got));
    const auto& heard = process.heard;
    const bool ended = got <= 0;
    if (!heard.empty() && heard[0] == kError) return ended ? error_of(index) : Status();
    if (!heard.empty() && heard[0] == step && heard.size() > bytes) {
      process.reported = true;
      if (bytes == 0) process.heard.erase(0, 1);
      return {};
    }
    if (!ended) return {};
    const auto known_as = name(index);
    int status = 0;
    ::waitpid(process.pid, &status, 0);
    process.pid = -1;
    return Error{ErrorCode::internal,
                 known_as + " ended with wait status \"" + std::to_string(status) + "\" before it was " + what};
  }

  Error error_of(std::size_t index) const {
    const auto& heard = processes_[index].heard;
    auto code = static_cast<std::uint16_t>(ErrorCode::internal);
    if (heard.size() > sizeof(code)) std::memcpy(&code, heard.data() + 1, sizeof(code));
    return {static_cast<ErrorCode>(code), name(index) + ": " + heard.substr(std::min(heard.size(), 1 + sizeof(code)))};
  }

  const std::size_t outcome_bytes_;
  const milliseconds patience_;
  Pipe start_, end_;
  std::vector<Process> processes_;
};

}  // namespace

void Race::start() {
  write_all(report_, {&kReady, 1});
  wait_for_close(start_);
}

void Race::end() {
  write_all(report_, {&kThrough, 1});
  wait_for_close(end_);
}

Result<std::vector<Bytes>> run_processes(std::size_t count, std::size_t outcome_bytes,
                                         const std::function<Status(std::size_t, Race&, std::byte*)>& work,
                                         const std::function<void()>& released, milliseconds patience) {
  Fleet fleet(outcome_bytes, patience);
  CUBIND_CHECK(fleet.fork_all(count, work));
  CUBIND_CHECK(fleet.wait_for(kReady, "ready"));
  released();
  fleet.start();
  CUBIND_CHECK(fleet.wait_for(kThrough, "through"));
  fleet.end();
  CUBIND_CHECK(fleet.wait_for(kOutcome, "done", outcome_bytes));
  return fleet.outcomes();
}

}  // namespace cubind::bench
