#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

#include "tests/support/recording_cuda.hpp"

namespace cubind::test {

RecordingCuda RecordingCuda::find() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  RecordingCuda found{};
  if (library != nullptr) {
    found.state = reinterpret_cast<RecordingState* (*)()>(::dlsym(library, "recording_cuda_state"));
    found.reset = reinterpret_cast<void (*)()>(::dlsym(library, "recording_cuda_reset"));
    found.create_context = reinterpret_cast<void* (*)(int)>(::dlsym(library, "recording_cuda_create_context"));
    found.destroy_context = reinterpret_cast<void (*)(void*)>(::dlsym(library, "recording_cuda_destroy_context"));
    found.set_current = reinterpret_cast<void (*)(void*)>(::dlsym(library, "recording_cuda_set_current"));
  }
  if (found.state == nullptr) {
    std::fputs("the recording libcuda.so.1 is not the one the loader finds: set LD_LIBRARY_PATH\n", stderr);
    std::abort();
  }
  return found;
}

}  // namespace cubind::test
