// Reads the facts of a cubin out of its ELF without a driver. Bounds-checked: the bytes may be hostile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cubind {

struct CubinEntry {
  std::string name;
  std::uint32_t registers = 0;
  std::uint32_t static_smem_bytes = 0;
  std::uint32_t local_bytes = 0;  // stack frame a thread (spills show here)
  std::uint32_t param_bytes = 0;
  std::uint32_t max_threads = 0;  // from __launch_bounds__; 0 if absent
};
struct CubinFacts {
  std::uint32_t sm = 0;  // 80, 90, ...
  std::vector<CubinEntry> entries;
};

Result<CubinFacts> read_cubin(ByteView cubin);  // corruption if it is not a cubin

}  // namespace cubind
