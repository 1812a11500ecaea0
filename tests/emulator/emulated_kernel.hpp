// The kernels of the catalogue, instantiated for the host.
#pragma once

#include <span>
#include <vector>

#include "codegen/device/config.cuh"
#include "protocol/kernel_abi.hpp"

namespace cubind::emulator {

struct EmulatedKernel {
  GemmConfig config;
  void (*body)(const MappedGemmParams&);  // kernels without maps take the part before them
};

// All of them, in the order of the catalogue.
std::vector<EmulatedKernel> emulated_kernels();

// One part of the list: kernels.cpp is compiled CUBIND_SLICES times.
template <unsigned kSlice>
std::span<const EmulatedKernel> kernel_slice();

}  // namespace cubind::emulator
