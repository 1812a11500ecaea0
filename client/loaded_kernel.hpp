// Kernels in CUDA contexts, one table for the whole process: a kernel that several layers or clients share is loaded
// once in each context. Holds nothing alive by itself: a kernel is unloaded with its last user. Thread-safe; one load
// at a time (the driver's own load is serial). After fork the child begins with an empty table.
#pragma once

#include <memory>

#include "client/driver/handles.hpp"
#include "client/kernel_cache.hpp"

namespace cubind {

struct LoadedKernel {
  std::shared_ptr<const cuda::LibraryBox> library;
  cuda::Function function = nullptr;  // of one context
};
using LoadedKernelPtr = std::shared_ptr<const LoadedKernel>;

// Loads into the current context, now: with lazy loading the driver would otherwise load at the first launch, which
// waits for the device and breaks a stream capture. Sets what a launch needs (dynamic shared memory). not_supported if
// the cubin is for another architecture, named.
Result<LoadedKernelPtr> load_kernel(const cuda::DriverApi& api, const PreparedKernel& kernel);

}  // namespace cubind
