#include "tests/unit/cli/run_cubinctl.hpp"

#include <cstdlib>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace cubind::test {

namespace {

void read_both(UniqueFd out, UniqueFd err, Ran& ran) {
  pollfd fds[] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
  std::string* texts[] = {&ran.out, &ran.err};
  for (int open = 2; open > 0;) {
    if (poll(fds, 2, -1) < 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t count = read(fds[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(count));
      } else {
        fds[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

Ran cubinctl(const std::vector<std::string>& arguments, const std::string& socket) {
  const char* program = std::getenv("CUBINCTL");
  if (program == nullptr) return {};
  std::vector<char*> argv{const_cast<char*>("cubinctl")};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::string variable = "CUBIND_SOCKET=" + socket;
  const char* recording = std::getenv("CUBIND_RECORDING");  // the folder of a libcuda that computes nothing
  const std::string libraries = std::string("LD_LIBRARY_PATH=") + (recording != nullptr ? recording : "");
  char* environment[] = {const_cast<char*>(variable.c_str()), const_cast<char*>(libraries.c_str()), nullptr};

  int out[2], err[2];
  if (pipe(out) != 0 || pipe(err) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const int fd : {out[0], out[1], err[0], err[1]}) close(fd);
    execve(program, argv.data(), environment);
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  Ran ran;
  read_both(UniqueFd(out[0]), UniqueFd(err[0]), ran);
  int status = 0;
  waitpid(child, &status, 0);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

std::string source_path(const std::string& path) {
  return std::string(std::getenv("CUBIND_TEST_SOURCE")) + "/" + path;
}

}  // namespace cubind::test
