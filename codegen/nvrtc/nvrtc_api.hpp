// NVRTC's functions, found at run time in one library at an absolute path. Only cubind-worker and tests use this; the
// daemon never loads NVRTC. The library stays loaded for the life of the process.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace cubind {

struct NvrtcApi {
  // The library's own types, named here so that its header is not needed to build.
  using Program = struct _nvrtcProgram*;
  using Code = int;  // nvrtcResult; 0 is success

  // Loads the builtins first: NVRTC opens them by bare name, which finds them wherever they lie only if they are there
  // already. unavailable, with the dynamic linker's words, if a library or a function is missing.
  static Result<NvrtcApi> open(const std::string& nvrtc_path, const std::string& builtins_path);

  Code (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(Code code) = nullptr;
  Code (*create_program)(Program* program, const char* source, const char* name, int count, const char* const* texts,
                         const char* const* names) = nullptr;
  Code (*destroy_program)(Program* program) = nullptr;
  Code (*compile_program)(Program program, int count, const char* const* options) = nullptr;
  Code (*cubin_size)(Program program, std::size_t* size) = nullptr;
  Code (*cubin)(Program program, char* out) = nullptr;
  Code (*log_size)(Program program, std::size_t* size) = nullptr;
  Code (*log)(Program program, char* out) = nullptr;
};

}  // namespace cubind
