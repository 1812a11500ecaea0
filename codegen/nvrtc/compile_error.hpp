// What a failed compile means. The distinction matters: only the source's fault may be remembered. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cubind {

// From NVRTC's result code (not success), its words for it, and the log. compile_failed: the source;
// resource_exhausted: memory (ptxas reports that as an ordinary compilation error, with "Memory allocation failure");
// unavailable: the builtins are missing; internal: anything else. The message ends with the log's first error line.
Error classify_nvrtc(int code, std::string_view words, std::string_view log);

// From the wait status of a compile that ended without an answer, and the last words it wrote to standard error.
// resource_exhausted: SIGKILL that nobody here sent (the kernel's out-of-memory killer), or an abort that speaks of
// memory (NVVM's "LLVM ERROR: out of memory"); timed_out: its CPU limit; internal: any other crash.
Error classify_exit(int wait_status, std::string_view last_words);

}  // namespace cubind
