// A library to configure in NVRTC's place that misbehaves on demand: it needs the real NVRTC (DT_NEEDED), and a source
// with "// trouble: KIND" in it gets that trouble where it would have been compiled; any other source is compiled.
//   abort    abort(), as a compiler's failed assertion does
//   hang     never returns, without using a processor
//   memory   allocates and touches until it is stopped
//   nothing  succeeds with a cubin of no bytes
//   log      fails with a log of 8 MB
//   chatter  writes 8 MB to stdout and stderr, then compiles
// A daemon's sources say nothing of that. There the file "<this library's path>.hold" with "MEGABYTES MILLISECONDS"
// makes each compile but the zygote's warm-up take that memory for that time, and fail. Its path, because a worker's
// environment is empty.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {
using Program = struct _nvrtcProgram*;
constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION
constexpr std::size_t kMegabytes = 8 << 20;

std::mutex mutex;
std::map<Program, std::string> troubles;

std::string trouble_of(Program program) {
  const std::lock_guard lock(mutex);
  const auto found = troubles.find(program);
  return found == troubles.end() ? "" : found->second;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void chatter() {
  const std::string line(1023, 'x');
  for (std::size_t written = 0; written < kMegabytes; written += 1024) {
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      if (::write(fd, (line + "\n").data(), 1024) < 0) return;
    }
  }
}

// Whether there was something to do.
bool hold() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&hold), &self) == 0) return false;
  auto* file = std::fopen((std::string(self.dli_fname) + ".hold").c_str(), "re");
  if (file == nullptr) return false;
  std::size_t megabytes = 0;
  unsigned milliseconds = 0;
  if (std::fscanf(file, "%zu %u", &megabytes, &milliseconds) != 2) std::abort();
  std::fclose(file);
  void* block =
      ::mmap(nullptr, megabytes << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (block == MAP_FAILED) std::abort();
  ::usleep(milliseconds * 1000);
  ::munmap(block, megabytes << 20);
  return true;
}

// Ends as a C++ program does that catches nothing: terminate() says std::bad_alloc and aborts.
[[noreturn]] void eat_memory() noexcept {
  for (;;) std::memset(new char[16 << 20], 1, 16 << 20);
}
}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int nvrtcCreateProgram(Program* program, const char* source, const char* name, int headers,
                              const char* const* texts, const char* const* names) {
  const auto code =
      real<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram")(program, source, name, headers, texts, names);
  constexpr char kMark[] = "// trouble: ";
  if (const char* mark = std::strstr(source, kMark); code == 0 && mark != nullptr) {
    mark += sizeof(kMark) - 1;
    const std::lock_guard lock(mutex);
    troubles[*program] = std::string(mark, std::strcspn(mark, "\n"));
  } else if (code == 0 && (name == nullptr || std::strcmp(name, "warmup.cu") != 0)) {
    const std::lock_guard lock(mutex);
    troubles[*program] = "hold";
  }
  return code;
}

EXPORT int nvrtcCompileProgram(Program program, int options, const char* const* texts) {
  const auto trouble = trouble_of(program);
  if (trouble == "abort") std::abort();
  if (trouble == "memory") eat_memory();
  while (trouble == "hang") ::pause();
  if (trouble == "log") return kCompilation;
  if (trouble == "chatter") chatter();
  if (trouble == "hold" && hold()) return kCompilation;
  return real<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram")(program, options, texts);
}

EXPORT int nvrtcGetProgramLogSize(Program program, std::size_t* size) {
  if (trouble_of(program) != "log")
    return real<decltype(nvrtcGetProgramLogSize)>("nvrtcGetProgramLogSize")(program, size);
  *size = kMegabytes + 1;
  return 0;
}

EXPORT int nvrtcGetProgramLog(Program program, char* log) {
  if (trouble_of(program) != "log") return real<decltype(nvrtcGetProgramLog)>("nvrtcGetProgramLog")(program, log);
  std::memset(log, 'e', kMegabytes);
  log[kMegabytes] = '\0';
  return 0;
}

EXPORT int nvrtcGetCUBINSize(Program program, std::size_t* size) {
  const auto code = real<decltype(nvrtcGetCUBINSize)>("nvrtcGetCUBINSize")(program, size);
  if (trouble_of(program) == "nothing") *size = 0;
  return code;
}

EXPORT int nvrtcGetCUBIN(Program program, char* cubin) {
  if (trouble_of(program) == "nothing") return 0;
  return real<decltype(nvrtcGetCUBIN)>("nvrtcGetCUBIN")(program, cubin);
}
