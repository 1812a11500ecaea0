#include "codegen/nvrtc/nvrtc_api.hpp"

#include <dlfcn.h>

namespace cubind {

namespace {
Error linker_error(const std::string& path) {
  const char* words = ::dlerror();
  return {ErrorCode::unavailable, "nvrtc \"" + path + "\" cannot be loaded: " + (words != nullptr ? words : "unknown")};
}

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}
}  // namespace

Result<NvrtcApi> NvrtcApi::open(const std::string& nvrtc_path, const std::string& builtins_path) {
  if (::dlopen(builtins_path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) return linker_error(builtins_path);
  void* library = ::dlopen(nvrtc_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return linker_error(nvrtc_path);
  NvrtcApi api;
  const bool all =
      find(library, "nvrtcVersion", api.version) && find(library, "nvrtcGetErrorString", api.error_string) &&
      find(library, "nvrtcCreateProgram", api.create_program) &&
      find(library, "nvrtcDestroyProgram", api.destroy_program) &&
      find(library, "nvrtcCompileProgram", api.compile_program) && find(library, "nvrtcGetCUBINSize", api.cubin_size) &&
      find(library, "nvrtcGetCUBIN", api.cubin) && find(library, "nvrtcGetProgramLogSize", api.log_size) &&
      find(library, "nvrtcGetProgramLog", api.log);
  if (!all) return linker_error(nvrtc_path);
  return api;
}

}  // namespace cubind
