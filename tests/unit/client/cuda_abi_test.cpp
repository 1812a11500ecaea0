#include <type_traits>

#include <cuda.h>
#include <gtest/gtest.h>

#include "client/driver/driver_api.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind::cuda {
namespace {

// How a type of ours and one of cuda.h's are passed: all that the binary interface sees.
template <class Ours, class Theirs>
constexpr bool same_passing() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  } else {
    return sizeof(Ours) == sizeof(Theirs) && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}
template <class Ours, class Theirs>
struct SameSignature : std::false_type {};
template <class... Ours, class... Theirs>
struct SameSignature<CuResult (*)(Ours...), CUresult (*)(Theirs...)>
    : std::bool_constant<(sizeof...(Ours) == sizeof...(Theirs)) && (same_passing<Ours, Theirs>() && ...)> {};

#define EXPECT_SIGNATURE(member, function) \
  static_assert(SameSignature<decltype(DriverApi::member), decltype(&function)>::value, #function)
EXPECT_SIGNATURE(init, cuInit);
EXPECT_SIGNATURE(driver_get_version, cuDriverGetVersion);
EXPECT_SIGNATURE(get_error_name, cuGetErrorName);
EXPECT_SIGNATURE(device_get, cuDeviceGet);
EXPECT_SIGNATURE(device_get_attribute, cuDeviceGetAttribute);
EXPECT_SIGNATURE(primary_context_retain, cuDevicePrimaryCtxRetain);
EXPECT_SIGNATURE(primary_context_release, cuDevicePrimaryCtxRelease);
EXPECT_SIGNATURE(context_get_current, cuCtxGetCurrent);
EXPECT_SIGNATURE(context_get_id, cuCtxGetId);
EXPECT_SIGNATURE(context_push, cuCtxPushCurrent);
EXPECT_SIGNATURE(context_pop, cuCtxPopCurrent);
EXPECT_SIGNATURE(library_load_data, cuLibraryLoadData);
EXPECT_SIGNATURE(library_unload, cuLibraryUnload);
EXPECT_SIGNATURE(library_get_kernel, cuLibraryGetKernel);
EXPECT_SIGNATURE(kernel_get_function, cuKernelGetFunction);
EXPECT_SIGNATURE(function_get_attribute, cuFuncGetAttribute);
EXPECT_SIGNATURE(function_set_attribute, cuFuncSetAttribute);
EXPECT_SIGNATURE(launch_kernel, cuLaunchKernel);
EXPECT_SIGNATURE(launch_kernel_ex, cuLaunchKernelEx);
EXPECT_SIGNATURE(tensor_map_encode_tiled, cuTensorMapEncodeTiled);
EXPECT_SIGNATURE(memset_d8_async, cuMemsetD8Async);

// cuCtxGetDevice is overloaded by macro from CUDA 13 on; the exported cuCtxGetDevice stays as it was.

TEST(CudaAbi, NumbersAreCudas) {
  EXPECT_EQ(static_cast<int>(TensorMapType::uint16), CU_TENSOR_MAP_DATA_TYPE_UINT16);
  EXPECT_EQ(static_cast<int>(TensorMapType::uint32), CU_TENSOR_MAP_DATA_TYPE_UINT32);
  EXPECT_EQ(static_cast<int>(TensorMapSwizzle::none), CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_EQ(static_cast<int>(TensorMapSwizzle::bytes_128), CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(static_cast<int>(TensorMapPromotion::bytes_128), CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  EXPECT_EQ(static_cast<int>(TensorMapInterleave::none), CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(static_cast<int>(TensorMapFill::zeros), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT_EQ(sizeof(TensorMap), sizeof(CUtensorMap));
  EXPECT_EQ(LaunchAttribute{}.id, static_cast<int>(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(LaunchAttribute, cluster), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(alignof(TensorMap), 64u);
  EXPECT_EQ(kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kErrorNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(kErrorDeinitialized, CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(kErrorStubLibrary, CUDA_ERROR_STUB_LIBRARY);
  EXPECT_EQ(kErrorCallRequiresNewerDriver, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  EXPECT_EQ(kErrorNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(kErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(kErrorInvalidImage, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(kErrorInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(kErrorNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(kErrorUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(kErrorInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(kErrorNotFound, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(kErrorInsufficientDriver, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::multiprocessor_count), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::compute_capability_major), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::compute_capability_minor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::max_shared_memory_per_block_optin),
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(static_cast<int>(FunctionAttribute::num_regs), CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(static_cast<int>(FunctionAttribute::shared_size_bytes), CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(static_cast<int>(FunctionAttribute::max_dynamic_shared_size_bytes),
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
}

}  // namespace
}  // namespace cubind::cuda
