#include "tests/support/gpu/nvrtc_source.hpp"

#include <cstdlib>
#include <vector>

#include <dlfcn.h>

#include "tests/support/gpu/gpu_daemon.hpp"

namespace cubind::test {
namespace {

void* open_nvrtc() {
  std::vector<std::string> names;
  if (const char* named = std::getenv("CUBIND_NVRTC"); named != nullptr) {
    names.emplace_back(named);
  } else {
    for (const char* version : {"13", "12"}) {
      const std::string file = std::string("libnvrtc.so.") + version;
      names.push_back(program_folder() + "/../lib/" + file);
      names.push_back(file);
      for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda-13/lib64/", "/usr/local/cuda-13.0/lib64/",
                                 "/usr/local/cuda-13.0/lib/", "/usr/lib/x86_64-linux-gnu/"}) {
        names.push_back(folder + file);
      }
    }
  }
  for (const std::string& name : names) {
    if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  }
  return nullptr;
}

using Program = struct ProgramObject*;

template <class F>
F symbol(void* library, const char* name) {
  return reinterpret_cast<F>(::dlsym(library, name));
}

}  // namespace

Result<Bytes> compile_cuda(const std::string& source, Arch arch) {
  static void* const library = open_nvrtc();
  if (library == nullptr) {
    return Error{ErrorCode::unavailable, "no libnvrtc.so.13 or .12 for the test's own kernels: set CUBIND_NVRTC"};
  }
  const auto create = symbol<int (*)(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
      library, "nvrtcCreateProgram");
  const auto compile = symbol<int (*)(Program, int, const char* const*)>(library, "nvrtcCompileProgram");
  const auto log_size = symbol<int (*)(Program, std::size_t*)>(library, "nvrtcGetProgramLogSize");
  const auto get_log = symbol<int (*)(Program, char*)>(library, "nvrtcGetProgramLog");
  const auto cubin_size = symbol<int (*)(Program, std::size_t*)>(library, "nvrtcGetCUBINSize");
  const auto get_cubin = symbol<int (*)(Program, char*)>(library, "nvrtcGetCUBIN");
  const auto destroy = symbol<int (*)(Program*)>(library, "nvrtcDestroyProgram");

  Program program = nullptr;
  create(&program, source.c_str(), "test_kernels.cu", 0, nullptr, nullptr);
  const std::string target = "--gpu-architecture=" + to_string(arch);
  // Without --no-cache NVRTC opens libcuda by itself; before CUDA 12.9 there is no such option, and no cache.
  const char* options[] = {target.c_str(), "--std=c++17", "--no-cache"};
  std::size_t size = 0;
  if (compile(program, 3, options) != 0 && compile(program, 2, options) != 0) {
    log_size(program, &size);
    std::string log(size, '\0');
    get_log(program, log.data());
    destroy(&program);
    return Error{ErrorCode::compile_failed, log};
  }
  cubin_size(program, &size);
  Bytes cubin(size);
  get_cubin(program, reinterpret_cast<char*>(cubin.data()));
  destroy(&program);
  return cubin;
}

}  // namespace cubind::test
