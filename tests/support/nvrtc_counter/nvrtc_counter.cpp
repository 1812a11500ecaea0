// A library to configure in NVRTC's place that counts compiles: it needs the real NVRTC (DT_NEEDED), so every function
// that it does not define itself is found there, and each nvrtcCompileProgram appends one byte to the file
// "<this library's path>.count". A worker inherits no environment, so the path says where: copy the library to count
// apart. The zygote's warm-up, known by its program name, is not counted. If "<this library's path>.delay_ms" holds a
// number, every counted compile takes that much longer. The time at which a counted compile ended is the modification
// time of "<this library's path>.ended", to the nanosecond.
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {
using Program = struct _nvrtcProgram*;

std::mutex mutex;
std::set<Program> warmups;

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string beside(const char* suffix) {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&beside), &self) == 0) std::abort();
  return std::string(self.dli_fname) + suffix;
}

int open_beside(const char* suffix) {
  return ::open(beside(suffix).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void delay() {
  int milliseconds = 0;
  if (std::ifstream(beside(".delay_ms")) >> milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
}

void count() {
  const int fd = open_beside(".count");
  if (fd < 0) return;
  const char byte = '.';
  if (::write(fd, &byte, 1) != 1) std::abort();  // a count that is wrong is worse than a worker that dies
  ::close(fd);
}

// A file's own times are those of the kernel's last tick, up to 10 ms early: ours is read from the clock.
void note_end() {
  timespec times[2];
  ::clock_gettime(CLOCK_REALTIME, &times[0]);
  times[1] = times[0];
  const int fd = open_beside(".ended");
  if (fd < 0) return;
  ::futimens(fd, times);
  ::close(fd);
}
}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int nvrtcCreateProgram(Program* program, const char* source, const char* name, int headers,
                              const char* const* texts, const char* const* names) {
  const auto code =
      real<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram")(program, source, name, headers, texts, names);
  const std::lock_guard lock(mutex);
  if (code == 0 && name != nullptr && std::strcmp(name, "warmup.cu") == 0) warmups.insert(*program);
  return code;
}

EXPORT int nvrtcDestroyProgram(Program* program) {
  {
    const std::lock_guard lock(mutex);
    warmups.erase(*program);
  }
  return real<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram")(program);
}

EXPORT int nvrtcCompileProgram(Program program, int options, const char* const* texts) {
  bool counted = false;
  {
    const std::lock_guard lock(mutex);
    counted = !warmups.contains(program);
  }
  if (counted) {
    count();
    delay();
  }
  const auto code = real<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram")(program, options, texts);
  if (counted) note_end();
  return code;
}
