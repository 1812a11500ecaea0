// How the enums of a config are spelled: in C++ (the emitted unit) and in short (names for people). One table per enum.
#pragma once

#include <string>
#include <string_view>

#include "codegen/device/config.cuh"

namespace cubind {

std::string cpp_spelling(GemmKernel kernel);         // "cubind::GemmKernel::mma_sync"
std::string kernel_spelling(GemmKernel kernel);      // "mma_sync": codegen/device/kernel/gemm_mma_sync.cuh
std::string cpp_spelling(DType type);                // "cubind::DType::bf16"
std::string cpp_spelling(ScaleClass scales);         // "cubind::ScaleClass::g32"
std::string cpp_spelling(MmaKind mma);               // "cubind::MmaKind::mma_m16n8k16"
std::string_view short_spelling(GemmKernel kernel);  // "", "wgmma_": before the sizes in a config's name
std::string_view short_spelling(ScaleClass scales);  // "g32", "g64"
std::string_view short_spelling(MmaKind mma);        // "m16n8k16"

}  // namespace cubind
