#include "tests/support/gpu/gpu_daemon.hpp"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubind::test {
namespace {

struct OwnDaemon {
  std::string folder, socket;
  pid_t pid = 0;

  Status start(const std::string& program);
  ~OwnDaemon();
};

Status OwnDaemon::start(const std::string& program) {
  std::string pattern = (std::filesystem::temp_directory_path() / "cubind-gpu-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return Error{ErrorCode::internal, "cannot make a temporary folder"};
  folder = pattern;
  socket = folder + "/cubind.sock";
  const std::string store = folder + "/store";
  std::vector<const char*> arguments = {program.c_str(),          "--socket", socket.c_str(), "--store", store.c_str(),
                                        "--allow-any-filesystem", "true",     "--log-level",  "warn"};
  if (const char* nvrtc = std::getenv("CUBIND_NVRTC"); nvrtc != nullptr) {
    arguments.insert(arguments.end(), {"--toolchain-path", nvrtc});
  }
  arguments.push_back(nullptr);
  pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // of the thread that forks: the main thread of these programs
    ::execv(program.c_str(), const_cast<char**>(arguments.data()));
    ::_exit(127);
  }
  if (pid > 0) return {};
  return Error{ErrorCode::resource_exhausted, "cannot start \"" + program + "\""};
}

OwnDaemon::~OwnDaemon() {
  if (pid > 0) {
    ::kill(pid, SIGTERM);
    ::waitpid(pid, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
}

std::string daemon_program() {
  if (const char* named = std::getenv("CUBIND_DAEMON"); named != nullptr) return named;
  for (const char* relative : {"/cubind", "/../bin/cubind", "/../cubind", "/../../bin/cubind"}) {
    const std::string path = program_folder() + relative;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace

std::string program_path() {
  char path[PATH_MAX] = "";
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return {path, size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string program_folder() {
  const std::string program = program_path();
  return program.substr(0, program.rfind('/'));
}

Result<std::string> gpu_daemon_socket() {
  if (const char* socket = std::getenv("CUBIND_SOCKET"); socket != nullptr && *socket != '\0')
    return std::string(socket);
  static OwnDaemon daemon;
  if (daemon.pid == 0) {
    const std::string program = daemon_program();
    if (program.empty() || ::access(program.c_str(), X_OK) != 0) {
      return Error{ErrorCode::unavailable, "no daemon: set CUBIND_SOCKET, or CUBIND_DAEMON to the cubind program"};
    }
    CUBIND_CHECK(daemon.start(program));
  }
  return daemon.socket;
}

}  // namespace cubind::test
