#include "tests/support/gpu/gpu_api.hpp"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace cubind::test {

std::string no_gpu_reason() {
  const auto driver = cuda::driver();
  if (!driver) return driver.error().message;
  return {};
}

const GpuApi& gpu() {
  static const GpuApi table = [] {
    const auto driver = cuda::driver();
    if (!driver) {
      std::fprintf(stderr, "%s\n", to_string(driver.error()).c_str());
      std::exit(1);
    }
    GpuApi made;
    static_cast<cuda::DriverApi&>(made) = **driver;
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define CUBIND_RESOLVE(name, symbol, parameters)                               \
  made.name = reinterpret_cast<decltype(made.name)>(::dlsym(library, symbol)); \
  if (made.name == nullptr) {                                                  \
    std::fprintf(stderr, "libcuda lacks %s\n", symbol);                        \
    std::exit(1);                                                              \
  }
    CUBIND_GPU_API(CUBIND_RESOLVE)
#undef CUBIND_RESOLVE
    return made;
  }();
  return table;
}

void gpu_failed(const char* call, int result, const char* file, int line) {
  const Error error = cuda::driver_error(gpu(), call, result);
  std::fprintf(stderr, "%s:%d: %s\n", file, line, error.message.c_str());
  std::exit(1);
}

bool& dry_run() {
  static bool value = false;
  return value;
}

PrimaryContext::PrimaryContext() {
  GPU(device_get, &device_, 0);
  GPU(primary_context_retain, &context_, device_);
  GPU(context_set_current, context_);
}

PrimaryContext::~PrimaryContext() {
  gpu().context_set_current(nullptr);
  gpu().primary_context_release(device_);
}

}  // namespace cubind::test
