// cubind-worker NVRTC BUILTINS [OPTION...]: the zygote of one toolchain. Started by the daemon without its environment
// and with a control socket as descriptor kControlFd; loads NVRTC, compiles a small program once with the given
// options, then forks a child for each job. Has one thread and never compiles a job itself, so a fork copies a quiet,
// warm process, and whatever a compile does to its process (abort, leak, be killed) ends with the child. Stops when the
// control socket closes.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault_point.hpp"
#include "base/unique_fd.hpp"
#include "codegen/nvrtc/compile_error.hpp"
#include "codegen/nvrtc/options.hpp"
#include "daemon/worker_job.hpp"
#include "daemon/worker_protocol.hpp"

namespace cubind::worker {
namespace {

constexpr std::size_t kLastWords = 2048;  // of a child's standard error

struct Child {
  std::uint64_t job = 0;
  UniqueFd last_words;
};

bool send(const Message& message, int descriptor = -1) {
  const auto bytes = encode_message(message);
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    auto* cmsg = CMSG_FIRSTHDR(&header);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(cmsg), &descriptor, sizeof(int));
  }
  return ::sendmsg(kControlFd, &header, MSG_NOSIGNAL) >= 0;
}

// The next job and its two descriptors. False at the end of the daemon, or if it makes no sense.
bool receive(Message& message, UniqueFd& unit, UniqueFd& result) {
  std::byte packet[kMaxMessage];
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  iovec part{packet, sizeof(packet)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const auto size = ::recvmsg(kControlFd, &header, MSG_CMSG_CLOEXEC);
  if (size <= 0) return false;
  const auto* cmsg = CMSG_FIRSTHDR(&header);
  if (cmsg == nullptr || cmsg->cmsg_type != SCM_RIGHTS || cmsg->cmsg_len != CMSG_LEN(2 * sizeof(int))) return false;
  int descriptors[2];
  std::memcpy(descriptors, CMSG_DATA(cmsg), sizeof(descriptors));
  unit.reset(descriptors[0]);
  result.reset(descriptors[1]);
  auto decoded = decode_message({packet, static_cast<std::size_t>(size)});
  if (!decoded.ok() || decoded->kind != Kind::run) return false;
  message = std::move(*decoded);
  return true;
}

class Zygote {
 public:
  Zygote(const NvrtcApi& api, int signal_fd, const sigset_t& original_mask)
      : api_(api), signal_fd_(signal_fd), original_mask_(original_mask) {}

  void serve() {
    pollfd sources[] = {{kControlFd, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    while (true) {
      if (::poll(sources, 2, -1) < 0 && errno != EINTR) return;
      if (sources[1].revents != 0) reap();
      if (sources[0].revents != 0 && !take_job()) return;
    }
  }

 private:
  bool take_job() {
    Message job;
    UniqueFd unit, result;
    if (!receive(job, unit, result)) return false;
    CUBIND_FAULT_POINT("zygote.before_fork");
    Child child{job.job, UniqueFd(::memfd_create("last_words", MFD_CLOEXEC))};
    const auto parent = ::getpid();
    const auto pid = ::fork();
    if (pid == 0) {
      ::close(kControlFd);
      ::close(signal_fd_);
      ::sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
      run_job(api_, job, {unit.get(), result.get(), child.last_words.get()}, parent);
    }
    if (pid < 0) {
      Message ended{Kind::ended, job.job};
      ended.code = ErrorCode::resource_exhausted;
      ended.text = std::string("worker cannot fork: ") + std::strerror(errno);
      return send(ended);
    }
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    children_.emplace(pid, std::move(child));
    CUBIND_FAULT_POINT("zygote.after_fork");
    return send({Kind::started, job.job}, pidfd.get());
  }

  void reap() {
    signalfd_siginfo ignored;
    while (::read(signal_fd_, &ignored, sizeof(ignored)) > 0) {
    }
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
      const auto found = children_.find(pid);
      if (found == children_.end()) continue;
      Message ended{Kind::ended, found->second.job};
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const auto error = classify_exit(status, last_words_of(found->second));
        ended.code = error.code;
        ended.text = error.message;
      }
      children_.erase(found);
      CUBIND_FAULT_POINT("zygote.before_end");
      send(ended);
    }
  }

  static std::string last_words_of(const Child& child) {
    const auto size = ::lseek(child.last_words.get(), 0, SEEK_END);
    const auto start = size > static_cast<off_t>(kLastWords) ? size - static_cast<off_t>(kLastWords) : 0;
    std::string words(kLastWords, '\0');
    const auto got = ::pread(child.last_words.get(), words.data(), words.size(), start);
    words.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return words;
  }

  const NvrtcApi& api_;
  const int signal_fd_;
  const sigset_t original_mask_;
  std::unordered_map<pid_t, Child> children_;
};

int refuse(const Error& error) {
  Message message{Kind::refused};
  message.code = error.code;
  message.text = error.message;
  send(message);
  return 1;
}

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: cubind-worker NVRTC BUILTINS [OPTION...]; started by cubind, not by hand\n", stderr);
    return 2;
  }
  ::fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  CUBIND_FAULT_POINT("worker.start");
  const auto api = NvrtcApi::open(argv[1], argv[2]);
  if (!api.ok()) return refuse(api.error());
  Unit warmup;
  warmup.program = kWarmupProgramName;
  warmup.source = "extern \"C\" __global__ void warmup() {}";
  for (int i = 3; i < argc; ++i) warmup.options.emplace_back(argv[i]);
  if (const auto result = compile_once(*api, warmup); !result.ok()) {
    return refuse({ErrorCode::unavailable, "nvrtc cannot compile: " + result.error().message});
  }

  sigset_t child_ends, original;
  ::sigemptyset(&child_ends);
  ::sigaddset(&child_ends, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_ends, &original);
  const UniqueFd signal_fd(::signalfd(-1, &child_ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signal_fd || !send({Kind::ready})) return 1;
  Zygote(*api, signal_fd.get(), original).serve();
  return 0;
}

}  // namespace
}  // namespace cubind::worker

int main(int argc, char** argv) {
  // No static destructors: NVRTC's are not worth their time, and children may still be running.
  ::_exit(cubind::worker::run(argc, argv));
}
