// One GEMM on the emulated machine: random operands, packed here from the layout's definition (not with the project's
// repack), every byte that the kernel has no business with poisoned, and the same product in double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/device/config.cuh"
#include "protocol/kernel_abi.hpp"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::emulator {

struct GemmShape {
  unsigned m = 1, n = 64, k = 256;
  unsigned group = 128;  // 0: per channel
  bool bias = false;
  unsigned splits = 1;
  unsigned ldx_extra = 0, ldo_extra = 0;  // elements between the rows; NaN in x, must stay as they are in out
  std::uint64_t seed = 1;
};
std::string to_string(const GemmShape& shape);

// Throws std::runtime_error that says what is wrong: whatever the machine finds, an element that is not written, one
// that is and should not, a counter that is not zero again, an inaccurate result. Launches twice with the same
// workspace if shape.splits is above 1.
void check_gemm(const GemmConfig& config, void (*body)(const MappedGemmParams&), const GemmShape& shape,
                Schedule schedule);

}  // namespace cubind::emulator
