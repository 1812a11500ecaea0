// The part of the CUDA Driver API's binary interface that this library uses, declared here so that it is built without
// CUDA's headers on any machine: types, numbers and signatures as the driver exports them, fixed since CUDA 12.0.
// tests/unit/client/cuda_abi_test compares them with <cuda.h> where there is one. Only client/driver, and tests that
// speak to a driver, include this.
#pragma once

#include <cstddef>

namespace cubind::cuda {

// Opaque objects of the driver; a null pointer is none. Binary compatible with CUcontext, CUstream, ...
using Context = struct ContextObject*;
using Library = struct LibraryObject*;
using Kernel = struct KernelObject*;
using Function = struct FunctionObject*;
using Stream = struct CUstream_st*;  // cubind.h's cubind_stream

using Device = int;  // ordinal's handle
using DevicePtr = unsigned long long;

// CUresult. Only those that are told apart.
using CuResult = int;
inline constexpr CuResult kSuccess = 0;
inline constexpr CuResult kErrorInvalidValue = 1;
inline constexpr CuResult kErrorOutOfMemory = 2;
inline constexpr CuResult kErrorNotInitialized = 3;  // also what a forked child of a process that used CUDA gets
inline constexpr CuResult kErrorDeinitialized = 4;   // while the process exits
inline constexpr CuResult kErrorStubLibrary = 34;    // the link-time stub of the toolkit was loaded
inline constexpr CuResult kErrorCallRequiresNewerDriver = 36;
inline constexpr CuResult kErrorNoDevice = 100;
inline constexpr CuResult kErrorInvalidDevice = 101;
inline constexpr CuResult kErrorInvalidImage = 200;
inline constexpr CuResult kErrorInvalidContext = 201;
inline constexpr CuResult kErrorNoBinaryForGpu = 209;
inline constexpr CuResult kErrorUnsupportedPtxVersion = 222;
inline constexpr CuResult kErrorInvalidHandle = 400;
inline constexpr CuResult kErrorNotFound = 500;
inline constexpr CuResult kErrorInsufficientDriver = 803;  // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH

// CUdevice_attribute
enum class DeviceAttribute : int {
  multiprocessor_count = 16,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_block_optin = 97,
};

// CUfunction_attribute
enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  num_regs = 4,
  max_dynamic_shared_size_bytes = 8,
};

// What a tensor map says of a tensor: CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion; and the only
// CUtensorMapInterleave and CUtensorMapFloatOOBfill in use: none, and zeros outside of the tensor.
enum class TensorMapType : int { uint16 = 1, uint32 = 2 };
enum class TensorMapSwizzle : int { none = 0, bytes_128 = 3 };
enum class TensorMapPromotion : int { bytes_128 = 2 };
enum class TensorMapInterleave : int { none = 0 };
enum class TensorMapFill : int { zeros = 0 };

// CUlaunchAttribute with the one id in use, the cluster's dimensions.
struct LaunchAttribute {
  int id = 4;
  int padding = 0;
  unsigned cluster[16] = {};  // x, y, z
};

// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned smem_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

inline constexpr int kMinDriverVersion = 12000;  // CUDA 12.0, R525: cuLibraryLoadData and cuCtxGetId

}  // namespace cubind::cuda
