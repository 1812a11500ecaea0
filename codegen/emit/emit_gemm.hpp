// A config as the CUDA translation unit that NVRTC compiles: one include, the config with designated initializers, one
// extern "C" entry. Pure; the same config gives the same text for ever (tests/golden).
#pragma once

#include <string>

#include "codegen/device/config.cuh"

namespace cubind {

std::string emit_gemm(const GemmConfig& config);

}  // namespace cubind
