// A slow disk, as a layer before libc's file calls (LD_PRELOAD): whatever a process does to files under the folder
// CUBIND_SLOW_FOLDER takes as many milliseconds longer as stand in CUBIND_SLOW_FOLDER.delay_ms at that moment, if that
// file is there. The calls are those that RocksDB makes. CUBIND_SLOW_FOLDER.delayed has one byte for each
// call that was delayed.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kMostFiles = 4096;
std::atomic<bool> is_slow[kMostFiles];  // by descriptor

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

const std::string& folder() {
  static const std::string named = [] {
    const char* value = std::getenv("CUBIND_SLOW_FOLDER");
    return std::string(value != nullptr ? value : "");
  }();
  return named;
}

bool is_there(const char* path) {
  return !folder().empty() && std::strncmp(path, folder().c_str(), folder().size()) == 0 &&
         path[folder().size()] == '/';
}

// With system calls of its own: libc's are the ones below.
void wait_a_little() {
  const int saved = errno;
  char text[16] = "";
  const auto fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, (folder() + ".delay_ms").c_str(), O_RDONLY));
  if (fd >= 0) {
    ::syscall(SYS_read, fd, text, sizeof text - 1);
    ::syscall(SYS_close, fd);
  }
  if (const long ms = std::strtol(text, nullptr, 10); ms > 0) {
    const auto count = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, (folder() + ".delayed").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    if (count >= 0) {
      ::syscall(SYS_write, count, ".", 1);
      ::syscall(SYS_close, count);
    }
    const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  errno = saved;
}

void wait_if_slow(int fd) {
  if (fd >= 0 && fd < kMostFiles && is_slow[fd]) wait_a_little();
}

}  // namespace

#define CUBIND_SLOW __attribute__((visibility("default")))

extern "C" {

CUBIND_SLOW int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  static const auto original = next("open", &open);
  const bool slow = is_there(path);
  if (slow) wait_a_little();
  const int fd = original(path, flags, mode);
  if (fd >= 0 && fd < kMostFiles) is_slow[fd] = slow;
  return fd;
}

CUBIND_SLOW int close(int fd) {
  static const auto original = next("close", &close);
  if (fd >= 0 && fd < kMostFiles) is_slow[fd] = false;
  return original(fd);
}

CUBIND_SLOW ssize_t write(int fd, const void* bytes, size_t count) {
  static const auto original = next("write", &write);
  wait_if_slow(fd);
  return original(fd, bytes, count);
}

CUBIND_SLOW ssize_t pread(int fd, void* bytes, size_t count, off_t at) {
  static const auto original = next("pread", &pread);
  wait_if_slow(fd);
  return original(fd, bytes, count, at);
}

CUBIND_SLOW ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
  static const auto original = next("pwrite", &pwrite);
  wait_if_slow(fd);
  return original(fd, bytes, count, at);
}

CUBIND_SLOW int fsync(int fd) {
  static const auto original = next("fsync", &fsync);
  wait_if_slow(fd);
  return original(fd);
}

CUBIND_SLOW int fdatasync(int fd) {
  static const auto original = next("fdatasync", &fdatasync);
  wait_if_slow(fd);
  return original(fd);
}

}  // extern "C"
