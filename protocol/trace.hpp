// A trace: what a daemon was asked for, so that it can be prewarmed elsewhere. A text for people and programs, one
// entry a line in no particular order, behind one line that names the format:
//   cubind-trace 1
//   layer sm_90a 132 w4a16-bf16-g128-zp 6144 4096 8192 nvrtc-13.0.88-1a2b3c4d            arch, SM count, format, n, k,
//   max m catalogue sm_90 132 w4a16-bf16-g128-zp 6144 4096 8192 nvrtc-13.0.88-1a2b3c4d         the same, every kernel
//   of it kernel sm_90 w4a16-bf16-g128-zp m16n64k128s4w1x1x4 nvrtc-13.0.88-1a2b3c4d            arch, format, config
// The last word is the toolchain that was chosen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "protocol/arch.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

struct TraceEntry {
  GemmDescriptor descriptor;
  Arch arch;
  std::string config;                        // of one kernel; empty for a layer
  std::uint32_t sm_count = 0, n = 0, k = 0;  // of a layer
  std::uint32_t max_m = 0;
  bool whole_catalogue = false;
  std::string toolchain;
  bool operator==(const TraceEntry&) const = default;
};

inline constexpr std::string_view kTraceHeader = "cubind-trace 1\n";

std::string trace_line(const TraceEntry& entry);  // with its newline

// invalid_argument names the line, the word and the rule. Safe on hostile text.
Result<std::vector<TraceEntry>> parse_trace(std::string_view text);

}  // namespace cubind
