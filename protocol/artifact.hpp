// A cubin and what a launcher must know about it.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "protocol/arch.hpp"

namespace cubind {

// SHA-256 over everything the cubin depends on (codegen/cache_key.hpp).
using KernelKey = Digest;

struct KernelInfo {
  std::string name;   // for people: "w4a16-bf16-g64-m16n64k128s4w1x1x4" (descriptor class and config)
  std::string entry;  // kEntryName
  Arch arch;          // the target that was compiled, e.g. sm_90 where sm_90a was asked for
  std::uint32_t launch_abi = 0;
  std::uint32_t weight_layout = 0;
  std::uint32_t tile_m = 0, tile_n = 0, tile_k = 0;
  std::uint32_t threads = 0;     // a block
  std::uint32_t smem_bytes = 0;  // dynamic shared memory a block
  std::uint32_t static_smem_bytes = 0;
  std::uint32_t registers = 0;           // a thread, as the cubin says
  std::uint32_t local_bytes = 0;         // a thread: spills and stack; 0 in everything we plan
  std::string toolchain;                 // Toolchain::id
  double compile_ms = 0;                 // wall time in the worker
  std::uint64_t compile_peak_bytes = 0;  // the worker's peak resident set
  std::string log;                       // the compiler's, trimmed to limits::kMaxCompileLog

  bool operator==(const KernelInfo&) const = default;
};

struct Artifact {
  KernelKey key;
  KernelInfo info;
  Digest cubin_digest;  // SHA-256 of *cubin
  SharedBytes cubin;    // never null in a valid artifact
};

}  // namespace cubind
