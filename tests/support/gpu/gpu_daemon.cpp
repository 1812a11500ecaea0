#include "tests/support/gpu/gpu_daemon.hpp"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace cubind::test {

std::string program_path() {
  char path[PATH_MAX] = "";
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return {path, size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string program_folder() {
  const std::string program = program_path();
  return program.substr(0, program.rfind('/'));
}

Result<GpuDaemon> GpuDaemon::find_or_start() {
  GpuDaemon made;
  if (const char* socket = std::getenv("CUBIND_SOCKET"); socket != nullptr && *socket != '\0') {
    made.socket_ = socket;
    return made;
  }
  std::string daemon;
  if (const char* named = std::getenv("CUBIND_DAEMON"); named != nullptr) {
    daemon = named;
  } else {
    for (const char* relative : {"/cubind", "/../bin/cubind", "/../cubind", "/../../bin/cubind"}) {
      if (daemon.empty() && ::access((program_folder() + relative).c_str(), X_OK) == 0) {
        daemon = program_folder() + relative;
      }
    }
  }
  if (daemon.empty() || ::access(daemon.c_str(), X_OK) != 0) {
    return Error{ErrorCode::unavailable, "no daemon: set CUBIND_SOCKET, or CUBIND_DAEMON to the cubind program"};
  }
  std::string pattern = (std::filesystem::temp_directory_path() / "cubind-gpu-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return Error{ErrorCode::internal, "cannot make a temporary folder"};
  made.folder_ = pattern;
  made.socket_ = made.folder_ + "/cubind.sock";
  const std::string store = made.folder_ + "/store";
  const char* arguments[] = {daemon.c_str(), "--socket",    made.socket_.c_str(),
                             "--store",      store.c_str(), "--allow-any-filesystem",
                             "--log-level",  "warn",        nullptr};
  if (::posix_spawn(&made.pid_, daemon.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environ) != 0) {
    made.pid_ = 0;
    return Error{ErrorCode::unavailable, "cannot start \"" + daemon + "\""};
  }
  return made;
}

GpuDaemon::GpuDaemon(GpuDaemon&& other) noexcept
    : socket_(std::move(other.socket_)),
      folder_(std::exchange(other.folder_, {})),
      pid_(std::exchange(other.pid_, 0)) {}

GpuDaemon::~GpuDaemon() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
}

}  // namespace cubind::test
