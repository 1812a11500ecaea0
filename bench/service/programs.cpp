#include "bench/service/programs.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubind::bench {

namespace fs = std::filesystem;

Status fill_in(Programs& programs, const std::string& folder) {
  const auto fill = [&](std::string& path, const char* name) -> Status {
    if (path.empty()) {
      for (const auto& place : {fs::path(folder), fs::path(folder) / "../lib", fs::path(folder) / "../share/cubind"}) {
        if (std::error_code ignored; fs::exists(place / name, ignored)) {
          path = fs::weakly_canonical(place / name).string();
          return {};
        }
      }
      return Error{ErrorCode::not_found, std::string(name) + " is neither in \"" + folder + "\" nor in ../lib of it"};
    }
    path = fs::absolute(path).string();
    if (!fs::exists(path)) return Error{ErrorCode::not_found, "no file \"" + path + "\""};
    return {};
  };
  CUBIND_CHECK(fill(programs.daemon, "cubind"));
  CUBIND_CHECK(fill(programs.worker, "cubind-worker"));
  CUBIND_CHECK(fill(programs.counter, "libcubind_nvrtc_counter.so"));
  CUBIND_CHECK(fill(programs.boot_client, "cubind-bench-boot-client"));
  CUBIND_CHECK(fill(programs.bare_nvrtc, "cubind-bench-bare-nvrtc"));
  CUBIND_CHECK(fill(programs.bare_rocks, "cubind-bench-bare-rocks"));
  if (!programs.nvrtc.empty()) CUBIND_CHECK(fill(programs.nvrtc, ""));
  return fill(programs.model, "llama-3.1-8b-awq.json");
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command, const Options& options) {
  ChildProcess child;
  child.name_ = fs::path(command[0]).filename().string();
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  UniqueFd write_end;
  if (options.stdout_pipe) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error{ErrorCode::internal, std::string("pipe: ") + std::strerror(errno)};
    child.stdout_.reset(ends[0]);
    write_end.reset(ends[1]);
    ::posix_spawn_file_actions_adddup2(&files, write_end.get(), STDOUT_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  if (!options.stderr_file.empty()) {
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, options.stderr_file.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0644);
  }
  std::vector<char*> arguments, variables;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  for (const auto& variable : options.environment) variables.push_back(const_cast<char*>(variable.c_str()));
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  const int error = ::posix_spawn(&child.pid_, command[0].c_str(), &files, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    child.pid_ = -1;
    return Error{ErrorCode::not_found, "\"" + command[0] + "\" cannot be started: " + std::strerror(error)};
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)), pid_(std::exchange(other.pid_, -1)), stdout_(std::move(other.stdout_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(pid_, other.pid_);
  std::swap(stdout_, other.stdout_);
  return *this;
}

ChildProcess::~ChildProcess() {
  wait(std::chrono::milliseconds(0));
}

bool ChildProcess::running() {
  if (pid_ < 0) return false;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int ChildProcess::wait(std::chrono::milliseconds patience) {
  if (pid_ < 0) return 0;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  return status;
}

Result<std::string> ChildProcess::read_line(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::string line;
  char c = 0;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd source{stdout_.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&source, 1, static_cast<int>(left)) == 0) {
      return Error{ErrorCode::timed_out, "process \"" + name_ + "\" (pid " + std::to_string(pid_) +
                                             ") said nothing within \"" + std::to_string(patience.count()) + "\" ms"};
    }
    const auto got = ::read(stdout_.get(), &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || c == '\n') return line;
    line += c;
  }
}

PinnedToCore::PinnedToCore(int core) : before_(sizeof(cpu_set_t)) {
  ::sched_getaffinity(0, sizeof(cpu_set_t), reinterpret_cast<cpu_set_t*>(before_.data()));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ::sched_setaffinity(0, sizeof(one), &one);
}

PinnedToCore::~PinnedToCore() {
  ::sched_setaffinity(0, sizeof(cpu_set_t), reinterpret_cast<const cpu_set_t*>(before_.data()));
}

}  // namespace cubind::bench
