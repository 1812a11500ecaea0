// What a compile takes and gives. The unit holds everything: the compile reads no file, no environment and no clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "protocol/artifact.hpp"

namespace cubind {

struct CompileUnit {
  KernelKey key;
  std::string name;  // for logs: KernelInfo::name
  Arch arch;
  std::string toolchain;  // Toolchain::id
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text; ordered by name
  std::vector<std::string> options;                          // all of them, in order, seed included
};

struct CompileOutput {
  Bytes cubin;
  std::string log;
  double wall_ms = 0, cpu_ms = 0;
  std::uint64_t peak_bytes = 0;  // resident set of the process that compiled
};

// compile_failed: the source is at fault (may be stored as a failure); timed_out, cancelled; resource_exhausted:
// memory; unavailable: the toolchain cannot run; internal: anything else. Only compile_failed may be remembered.
using CompileResult = Result<CompileOutput>;

}  // namespace cubind
