#include "daemon/spawn_worker.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "daemon/worker_protocol.hpp"

namespace cubind {

namespace {
// Nothing is inherited; test builds hand the fault points on. A compile touches some 20 MB of fresh memory: in huge
// pages, where the system has them for who asks (transparent_hugepage: madvise), that is a hundred page faults instead
// of thousands, more than the pages that a child shares with its zygote cost it.
std::vector<std::string> environment() {
  std::vector<std::string> variables{"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
#ifdef CUBIND_FAULT_POINTS
  if (const char* fault = std::getenv("CUBIND_FAULT")) variables.push_back(std::string("CUBIND_FAULT=") + fault);
#endif
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

struct Actions {
  Actions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};
}  // namespace

Result<SpawnedWorker> spawn_worker(const std::string& path, const std::vector<std::string>& arguments) {
  const auto failed = [&](int error) {
    const bool scarce = error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
    return Error{scarce ? ErrorCode::resource_exhausted : ErrorCode::unavailable,
                 "compile worker \"" + path + "\" cannot be started: " + std::strerror(error)};
  };
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed(errno);
  SpawnedWorker worker;
  worker.control.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  ::fcntl(worker.control.get(), F_SETFL, O_NONBLOCK);

  Actions actions;
  ::posix_spawn_file_actions_addopen(&actions.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.files, theirs.get(), worker::kControlFd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions.files, worker::kControlFd + 1);
  ::posix_spawn_file_actions_addchdir_np(&actions.files, "/");
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&actions.attributes, &none);
  ::posix_spawnattr_setsigdefault(&actions.attributes, &all);
  ::posix_spawnattr_setflags(&actions.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> words{path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto variables = environment();
  const int error = ::posix_spawn(&worker.pid, path.c_str(), &actions.files, &actions.attributes,
                                  pointers(words).data(), pointers(variables).data());
  if (error != 0) return failed(error);
  worker.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, worker.pid, 0)));
  if (!worker.pidfd) {
    const int why = errno;
    ::kill(worker.pid, SIGKILL);
    ::waitpid(worker.pid, nullptr, 0);
    return failed(why);
  }
  return worker;
}

}  // namespace cubind
