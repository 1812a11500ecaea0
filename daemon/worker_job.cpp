#include "daemon/worker_job.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault_point.hpp"
#include "codegen/nvrtc/nvrtc_program.hpp"
#include "protocol/limits.hpp"

namespace cubind::worker {

namespace {
constexpr int kNice = 10;  // a compile never takes a core from who serves or launches

void set_limit(int resource, rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

void limit_myself(const Message& job) {
  ::setpriority(PRIO_PROCESS, 0, kNice);
  set_limit(RLIMIT_CORE, 0, 0);
#ifndef CUBIND_SANITIZED
  if (job.memory_bytes != 0) set_limit(RLIMIT_AS, job.memory_bytes, job.memory_bytes);
#endif
  // SIGXCPU at the soft limit says what happened; the hard one is for a process that survives it.
  if (job.cpu_seconds != 0) set_limit(RLIMIT_CPU, job.cpu_seconds, job.cpu_seconds + 1);
  // When memory runs out it is the compile that goes, not the daemon.
  if (const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    static_cast<void>(!::write(fd, "500", 3));
    ::close(fd);
  }
}

Result<Unit> read_unit(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size <= 0) return Error{ErrorCode::internal, "worker: no unit"};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return Error{ErrorCode::resource_exhausted, "worker: the unit cannot be mapped"};
  return decode_unit({static_cast<const std::byte*>(data), size});
}

bool write_all(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

double milliseconds(const timeval& time) {
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}
}  // namespace

CompileResult compile_once(const NvrtcApi& api, const Unit& unit) {
  const auto start = std::chrono::steady_clock::now();
  auto program = NvrtcProgram::create(api, unit.program, unit.source, unit.headers);
  if (!program.ok()) return program.error();
  const auto compiled = program->compile(unit.options);
  if (!compiled.ok()) {
    CompileResult failed(compiled.error());
    failed.failure_log = program->log().substr(0, limits::kMaxCompileLog);
    return failed;
  }
  auto cubin = program->cubin();
  if (!cubin.ok()) return cubin.error();
  CompileOutput output;
  output.cubin = std::move(*cubin);
  output.log = program->log();
  output.wall_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  output.cpu_ms = milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
  output.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  return output;
}

void run_job(const NvrtcApi& api, const Message& job, const JobFds& fds, int parent_pid) {
  // Dies with the zygote. If that went away before this line, the parent is another process by now.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_pid) ::_exit(1);
  ::dup2(fds.last_words, STDERR_FILENO);
  limit_myself(job);
  const auto unit = read_unit(fds.unit);
  CUBIND_FAULT_POINT("worker.before_compile");
  const auto result = unit.ok() ? compile_once(api, *unit) : CompileResult(unit.error());
  CUBIND_FAULT_POINT("worker.after_compile");
  const bool written = write_all(fds.result, encode_result(result));
  ::_exit(written ? 0 : 1);  // no destructors: the process is thrown away whole
}

}  // namespace cubind::worker
