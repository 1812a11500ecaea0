// What a compile takes and gives. The unit holds everything: the compile reads no file, no environment and no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
  // Name, text; ordered by name. Views of static storage (the embedded headers): a full queue holds no copies.
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::vector<std::string> options;  // all of them, in order, seed included
};

struct CompileOutput {
  Bytes cubin;
  std::string log;
  double wall_ms = 0, cpu_ms = 0;
  std::uint64_t peak_bytes = 0;  // resident set of the process that compiled
};

// compile_failed: the source is at fault (may be stored as a failure); timed_out, cancelled; resource_exhausted:
// memory; unavailable: the toolchain cannot run; internal: anything else. Only compile_failed may be remembered.
struct CompileResult : Result<CompileOutput> {
  using Result<CompileOutput>::Result;
  std::string failure_log;  // of an error: the compiler's log, as far as it came, trimmed to limits::kMaxCompileLog
};

}  // namespace cubind
