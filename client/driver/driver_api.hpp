// libcuda, opened at run time: a table of function pointers, one list. A function that the installed driver lacks is a
// trampoline that returns kErrorCallRequiresNewerDriver, never a null pointer.
#pragma once

#include <string>

#include "base/result.hpp"
#include "client/driver/cuda_abi.hpp"

// X(name in the table, exported symbol, parameters). Each returns CuResult.
#define CUBIND_DRIVER_API(X)                                                                                      \
  X(init, "cuInit", (unsigned flags))                                                                             \
  X(driver_get_version, "cuDriverGetVersion", (int* version))                                                     \
  X(get_error_name, "cuGetErrorName", (CuResult result, const char** name))                                       \
  X(device_get, "cuDeviceGet", (Device * device, int ordinal))                                                    \
  X(device_get_attribute, "cuDeviceGetAttribute", (int* value, DeviceAttribute attribute, Device device))         \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (Context * context, Device device))                       \
  X(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (Device device))                                     \
  X(context_get_current, "cuCtxGetCurrent", (Context * context))                                                  \
  X(context_get_device, "cuCtxGetDevice", (Device * device))                                                      \
  X(context_get_id, "cuCtxGetId", (Context context, unsigned long long* id))                                      \
  X(context_push, "cuCtxPushCurrent_v2", (Context context))                                                       \
  X(context_pop, "cuCtxPopCurrent_v2", (Context * context))                                                       \
  X(library_load_data, "cuLibraryLoadData",                                                                       \
    (Library * library, const void* code, int* jit_options, void** jit_values, unsigned jit_count,                \
     int* library_options, void** library_values, unsigned library_count))                                        \
  X(library_unload, "cuLibraryUnload", (Library library))                                                         \
  X(library_get_kernel, "cuLibraryGetKernel", (Kernel * kernel, Library library, const char* name))               \
  X(kernel_get_function, "cuKernelGetFunction", (Function * function, Kernel kernel))                             \
  X(function_get_attribute, "cuFuncGetAttribute", (int* value, FunctionAttribute attribute, Function function))   \
  X(function_set_attribute, "cuFuncSetAttribute", (Function function, FunctionAttribute attribute, int value))    \
  X(launch_kernel, "cuLaunchKernel",                                                                              \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,    \
     unsigned block_z, unsigned smem_bytes, Stream stream, void** parameters, void** extra))                      \
  X(launch_kernel_ex, "cuLaunchKernelEx",                                                                         \
    (const LaunchConfig* config, Function function, void** parameters, void** extra))                             \
  X(tensor_map_encode_tiled, "cuTensorMapEncodeTiled",                                                            \
    (void* map, TensorMapType type, unsigned rank, const void* address, const unsigned long long* sizes,          \
     const unsigned long long* strides, const unsigned* box, const unsigned* element_strides,                     \
     TensorMapInterleave interleave, TensorMapSwizzle swizzle, TensorMapPromotion promotion, TensorMapFill fill)) \
  X(memset_d8_async, "cuMemsetD8Async", (DevicePtr destination, unsigned char value, std::size_t count, Stream stream))

namespace cubind::cuda {

struct DriverApi {
#define CUBIND_DECLARE(name, symbol, parameters) CuResult(*name) parameters = nullptr;
  CUBIND_DRIVER_API(CUBIND_DECLARE)
#undef CUBIND_DECLARE
};

// The table, with cuInit done. `unavailable` without libcuda.so.1 or without a device, `not_supported` if the driver is
// older than R525 or if this process was forked from one that had used CUDA. Failures are not remembered: the next
// call tries again. The table lives for ever. Thread-safe, also after fork (no lock).
Result<const DriverApi*> driver();

// The same without cuInit, for what needs no device: cuDriverGetVersion.
Result<const DriverApi*> open_driver();

// "cuLibraryLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU (209)" with the code that fits the result. Also notes the result for
// take_last_result().
Error driver_error(const DriverApi& api, const char* symbol, CuResult result);

// The CUresult behind the last driver_error() of this thread, and forgets it: how it gets into cubind_error. Touched on
// failure only, so that a launch needs no thread-local memory.
CuResult take_last_result();

}  // namespace cubind::cuda

// Returns the driver's failure to the caller as an Error: CUBIND_CU(api, context_push, context).
#define CUBIND_CU(api, name, ...)                                                                                    \
  do {                                                                                                               \
    if (const ::cubind::cuda::CuResult cubind_cu_ = (api).name(__VA_ARGS__); cubind_cu_ != ::cubind::cuda::kSuccess) \
      return ::cubind::cuda::driver_error((api), #name, cubind_cu_);                                                 \
  } while (false)
