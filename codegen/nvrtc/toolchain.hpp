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
  std::string build_id;  // of the real libnvrtc, hex, from .note.gnu.build-id; without one "sha256-" and the file's
  std::string builtins_build_id;  // of its libnvrtc-builtins
  std::string nvrtc_path;         // absolute; the library that is loaded (a test's counter forwards to the real one)
  std::string builtins_path;
  bool installed = false;  // false: known from the store only; its records can be hit, a miss is `unavailable`

  // As cuDriverGetVersion counts: 13000 is 13.0.
  std::uint32_t cuda_version() const { return major * 1000 + minor * 10; }
};

// The generated units are C++20 with class-type template arguments, which NVRTC has from this version on.
inline constexpr std::uint32_t kMinNvrtcMajor = 12;

// Looks at explicitly configured paths (files or folders; an error names the path), or, if `paths` is empty, at the
// usual places: CUDA_PATH-independent /usr/local/cuda*/lib64 and targets/*/lib, /usr/lib/x86_64-linux-gnu; and in
// either case at Python wheels below `wheel_roots` (a site-packages folder, or an environment that has one).
// libnvrtc.alt* is ignored; one library found under several names counts once, under the first. Newest first. A library
// that needs a libnvrtc.so.N itself (DT_NEEDED, found as the dynamic linker would) is a forwarder: it is what gets
// loaded, the identity is that of the library it forwards to.
Result<std::vector<Toolchain>> find_toolchains(const std::vector<std::string>& paths,
                                               const std::vector<std::string>& wheel_roots);

// Whether the files of an installed one still are what it says: an upgrade may have put others in their place. Takes
// milliseconds.
bool is_unchanged(const Toolchain& toolchain);

// docs of the rule: design "Which NVRTC". exact: that id. max_cuda: the newest of that major not above it, else the
// oldest of that major. any: `configured` (an id, or empty = the newest). Installed ones go before those known from the
// store only, except for exact. Never one in `excluded`; unavailable if nothing is left, and the message lists what
// there is.
Result<const Toolchain*> choose_toolchain(const std::vector<Toolchain>& toolchains, const ToolchainChoice& choice,
                                          const std::string& configured);

// Whether that version has the target, suffix included: from a table, since NVRTC reports no suffixes and is not
// loaded.
bool compiles_for(const Toolchain& toolchain, Arch arch);

std::string version_text(const Toolchain& toolchain);  // "13.0.88"
std::string toolchain_id(const Toolchain& toolchain);  // from version and Build-IDs: the same wherever the files lie
bool is_newer(const Toolchain& a, const Toolchain& b);

}  // namespace cubind
