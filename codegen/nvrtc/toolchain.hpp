// One NVRTC: which file, what it is, what it can compile. Identity comes from the files' ELF notes and a table, never
// from loading the library: the daemon itself never loads NVRTC (the zygote does).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "protocol/arch.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct Toolchain {
  std::string id;  // "nvrtc-13.0.88-1a2b3c4d": version and the first 8 digits of the Build-ID pair's digest
  std::uint32_t major = 0, minor = 0, patch = 0;
  std::string build_id;           // of the real libnvrtc, hex, from .note.gnu.build-id
  std::string builtins_build_id;  // of its libnvrtc-builtins
  std::string nvrtc_path;         // absolute; the library that is loaded (a test's counter forwards to the real one)
  std::string builtins_path;
  bool installed = false;  // false: known from the store only; its records can be hit, a miss is `unavailable`

  std::uint32_t cuda_version() const { return major * 1000 + minor * 10; }  // as cuDriverGetVersion counts
};

// Looks at explicitly configured paths (files or folders; an error names the path), or, if `paths` is empty, at the
// usual places: CUDA_PATH-independent /usr/local/cuda*/lib64, /usr/lib/x86_64-linux-gnu, and Python wheels below
// `wheel_roots`. libnvrtc.alt* is ignored; one library found under several names counts once. Newest first.
Result<std::vector<Toolchain>> find_toolchains(const std::vector<std::string>& paths,
                                               const std::vector<std::string>& wheel_roots);

// docs of the rule: design "Which NVRTC". exact: that id. max_cuda: the newest of that major not above it, else the
// oldest of that major. any: `configured` (an id, or empty = the newest). Never one in `excluded`; unavailable if
// nothing is left, and the message lists what there is.
Result<const Toolchain*> choose_toolchain(const std::vector<Toolchain>& toolchains, const ToolchainChoice& choice,
                                          const std::string& configured);

}  // namespace cubind
