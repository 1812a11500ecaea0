#include "tests/support/recording_cuda.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include <unistd.h>

#include "client/driver/cuda_abi.hpp"

using namespace cubind;
using namespace cubind::cuda;

// The incomplete types of cuda_abi.hpp are this library's own objects.
struct cubind::cuda::ContextObject {
  int device;
  unsigned long long id;
};
struct cubind::cuda::FunctionObject {
  KernelObject* kernel;
  ContextObject* context;
  bool loaded = false;
  int max_dynamic_smem = 48 << 10;
};
struct cubind::cuda::KernelObject {
  LibraryObject* library;
  bool gemm;  // the entry whose parameter is GemmParams
  std::map<ContextObject*, std::unique_ptr<FunctionObject>> functions;
};
struct cubind::cuda::LibraryObject {
  std::string code;
  std::map<std::string, KernelObject> kernels;
};

namespace {

struct World {
  test::RecordingState state;
  bool initialized = false;
  pid_t pid = ::getpid();
  unsigned long long next_context_id = 1;
  std::set<ContextObject*> contexts;
  std::map<int, std::pair<ContextObject*, int>> primary;  // device to context and retain count
  std::set<LibraryObject*> libraries;
  std::map<DevicePtr, std::size_t> memory;  // host memory that plays the device's
};

std::recursive_mutex mutex;
World& world() {
  static World* const the_world = new World;
  return *the_world;
}
thread_local std::vector<ContextObject*> current;

// Notes the call; the result it must return at once, if any.
CuResult enter(const char* name, bool needs_init = true, bool in_capture = true) {
  World& w = world();
  w.state.calls.emplace_back(name);
  if (w.initialized && ::getpid() != w.pid) return kErrorNotInitialized;
  if (w.state.fail_function == name) return w.state.fail_result;
  if (needs_init && !w.initialized) return kErrorNotInitialized;
  if (!in_capture && w.state.capturing) {
    w.state.violations.push_back(std::string(name) + " while capturing");
    return 900;  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
  }
  return kSuccess;
}

#define ENTER(...)                   \
  const std::lock_guard lock(mutex); \
  if (const CuResult refused = enter(__VA_ARGS__); refused != kSuccess) return refused

ContextObject* top() {
  return current.empty() ? nullptr : current.back();
}

ContextObject* make_context(int device) {
  auto* made = new ContextObject{device, world().next_context_id++};
  world().contexts.insert(made);
  return made;
}

void drop_context(ContextObject* context) {
  for (LibraryObject* library : world().libraries) {
    for (auto& [name, kernel] : library->kernels) kernel.functions.erase(context);
  }
  world().contexts.erase(context);
  delete context;
}

bool alive(FunctionObject* function) {
  for (LibraryObject* library : world().libraries) {
    for (const auto& [name, kernel] : library->kernels) {
      for (const auto& [context, candidate] : kernel.functions) {
        if (candidate.get() == function) return true;
      }
    }
  }
  return false;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT CuResult cuInit(unsigned) {
  ENTER("cuInit", false);
  if (world().state.devices == 0) return kErrorNoDevice;
  world().initialized = true;
  return kSuccess;
}

EXPORT CuResult cuDriverGetVersion(int* version) {
  const std::lock_guard lock(mutex);
  world().state.calls.emplace_back("cuDriverGetVersion");
  *version = world().state.driver_version;
  return kSuccess;
}

EXPORT CuResult cuGetErrorName(CuResult result, const char** name) {
  switch (result) {
    case kErrorInvalidImage: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
    case kErrorNoBinaryForGpu: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; break;
    case kErrorOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kErrorNoDevice: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case kErrorInvalidDevice: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case kErrorInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    default: *name = nullptr; return kErrorInvalidValue;
  }
  return kSuccess;
}

EXPORT CuResult cuDeviceGet(Device* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= world().state.devices) return kErrorInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

EXPORT CuResult cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  ENTER("cuDeviceGetAttribute");
  if (device < 0 || device >= world().state.devices) return kErrorInvalidDevice;
  switch (attribute) {
    case DeviceAttribute::multiprocessor_count: *value = world().state.sm_count; break;
    case DeviceAttribute::compute_capability_major: *value = world().state.major; break;
    case DeviceAttribute::compute_capability_minor: *value = world().state.minor; break;
    case DeviceAttribute::max_shared_memory_per_block_optin: *value = 232448; break;
  }
  return kSuccess;
}

EXPORT CuResult cuDevicePrimaryCtxRetain(Context* context, Device device) {
  ENTER("cuDevicePrimaryCtxRetain", true, false);
  auto& [made, retains] = world().primary[device];
  if (retains++ == 0) made = make_context(device);
  ++world().state.primary_retains;
  *context = made;
  return kSuccess;
}

EXPORT CuResult cuDevicePrimaryCtxRelease_v2(Device device) {
  ENTER("cuDevicePrimaryCtxRelease_v2");
  auto& [made, retains] = world().primary[device];
  if (retains == 0) {
    world().state.violations.emplace_back("release of a primary context that is not retained");
    return kErrorInvalidContext;
  }
  --world().state.primary_retains;
  if (--retains == 0) drop_context(made);
  return kSuccess;
}

EXPORT CuResult cuCtxGetCurrent(Context* context) {
  ENTER("cuCtxGetCurrent");
  *context = top();
  return kSuccess;
}

EXPORT CuResult cuCtxGetDevice(Device* device) {
  ENTER("cuCtxGetDevice");
  if (top() == nullptr) return kErrorInvalidContext;
  *device = top()->device;
  return kSuccess;
}

EXPORT CuResult cuCtxGetId(Context context, unsigned long long* id) {
  ENTER("cuCtxGetId");
  if (world().contexts.count(context) == 0) return kErrorInvalidContext;
  *id = context->id;
  return kSuccess;
}

EXPORT CuResult cuCtxPushCurrent_v2(Context context) {
  ENTER("cuCtxPushCurrent_v2");
  if (world().contexts.count(context) == 0) return kErrorInvalidContext;
  current.push_back(context);
  return kSuccess;
}

EXPORT CuResult cuCtxPopCurrent_v2(Context* context) {
  ENTER("cuCtxPopCurrent_v2");
  if (current.empty()) return kErrorInvalidContext;
  *context = current.back();
  current.pop_back();
  return kSuccess;
}

EXPORT CuResult cuLibraryLoadData(Library* library, const void* code, int*, void**, unsigned jit_count, int*, void**,
                                  unsigned) {
  ENTER("cuLibraryLoadData", true, false);
  const auto starts_with = [code](const char* text) {
    return std::strncmp(static_cast<const char*>(code), text, std::strlen(text)) == 0;
  };
  if (code == nullptr ||
      !(starts_with("\x7f"
                    "ELF") ||
        starts_with(".version ")) ||
      jit_count != 0) {  // a cubin, or PTX
    return kErrorInvalidImage;
  }
  auto* made = new LibraryObject;
  // Made-up cubins are short text; of real ones the head is enough to tell them apart.
  made->code.assign(static_cast<const char*>(code), ::strnlen(static_cast<const char*>(code), 64));
  world().libraries.insert(made);
  ++world().state.libraries_alive;
  *library = made;
  return kSuccess;
}

EXPORT CuResult cuLibraryUnload(Library library) {
  ENTER("cuLibraryUnload");
  if (world().libraries.erase(library) == 0) {
    world().state.violations.emplace_back("unload of a library that is not loaded");
    return kErrorInvalidHandle;
  }
  --world().state.libraries_alive;
  delete library;
  return kSuccess;
}

EXPORT CuResult cuLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  ENTER("cuLibraryGetKernel");
  if (world().libraries.count(library) == 0) return kErrorInvalidHandle;
  const bool gemm = std::strcmp(name, kEntryName) == 0;
  if (!gemm && library->code.find("made-up") != std::string::npos) return kErrorNotFound;
  auto [found, added] = library->kernels.try_emplace(name);
  if (added) {
    found->second.library = library;
    found->second.gemm = gemm;
  }
  *kernel = &found->second;
  return kSuccess;
}

EXPORT CuResult cuKernelGetFunction(Function* function, Kernel kernel) {
  ENTER("cuKernelGetFunction", true, false);
  if (top() == nullptr) return kErrorInvalidContext;
  auto& slot = kernel->functions[top()];
  if (slot == nullptr) slot = std::make_unique<FunctionObject>(FunctionObject{kernel, top()});
  *function = slot.get();
  return kSuccess;
}

EXPORT CuResult cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function function) {
  ENTER("cuFuncGetAttribute");
  if (!alive(function)) return kErrorInvalidHandle;
  function->loaded = true;
  *value = attribute == FunctionAttribute::max_dynamic_shared_size_bytes ? function->max_dynamic_smem : 100;
  return kSuccess;
}

EXPORT CuResult cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  ENTER("cuFuncSetAttribute");
  if (!alive(function)) return kErrorInvalidHandle;
  if (attribute == FunctionAttribute::max_dynamic_shared_size_bytes) function->max_dynamic_smem = value;
  return kSuccess;
}

static CuResult record_launch(const LaunchConfig& config, Function function, void** parameters) {
  World& w = world();
  if (!alive(function)) return kErrorInvalidHandle;
  if (config.grid_x == 0 || config.grid_y == 0 || config.grid_z == 0 || config.grid_y > 65535 ||
      config.grid_z > 65535 || config.block_x * config.block_y * config.block_z > 1024 || config.block_x == 0) {
    return kErrorInvalidValue;
  }
  if (static_cast<int>(config.smem_bytes) > function->max_dynamic_smem) return kErrorInvalidValue;
  test::RecordedLaunch launch;
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const LaunchAttribute& cluster = config.attributes[i];
    if (cluster.id != LaunchAttribute{}.id || cluster.cluster[0] == 0 || config.grid_x % cluster.cluster[0] != 0 ||
        cluster.cluster[1] != 1 || cluster.cluster[2] != 1 || cluster.cluster[0] > 8) {
      return kErrorInvalidValue;
    }
    launch.cluster = cluster.cluster[0];
  }
  launch.function = function;
  launch.context = function->context;
  launch.grid[0] = config.grid_x;
  launch.grid[1] = config.grid_y;
  launch.grid[2] = config.grid_z;
  launch.block = config.block_x;
  launch.smem_bytes = config.smem_bytes;
  launch.stream = config.stream;
  launch.captured = w.state.capturing;
  launch.loaded_at_launch = !function->loaded;
  launch.code = function->kernel->library->code;
  if (function->kernel->gemm) std::memcpy(&launch.params, parameters[0], sizeof launch.params);
  if (function->kernel->gemm && w.state.mapped) {
    const auto& mapped = *static_cast<const MappedGemmParams*>(parameters[0]);
    launch.x_map = mapped.x_map;
    launch.weights_map = mapped.weights_map;
  }
  if (w.state.capturing && !function->loaded) w.state.violations.emplace_back("lazy load while capturing");
  function->loaded = true;
  w.state.launches.push_back(launch);
  return kSuccess;
}

EXPORT CuResult cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned smem_bytes, Stream stream,
                               void** parameters, void**) {
  ENTER("cuLaunchKernel");
  return record_launch({grid_x, grid_y, grid_z, block_x, block_y, block_z, smem_bytes, stream}, function, parameters);
}

EXPORT CuResult cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters, void**) {
  ENTER("cuLaunchKernelEx");
  return record_launch(*config, function, parameters);
}

EXPORT CuResult cuTensorMapEncodeTiled(void* map, TensorMapType type, unsigned rank, const void* address,
                                       const unsigned long long* sizes, const unsigned long long* strides,
                                       const unsigned* box, const unsigned* element_strides,
                                       TensorMapInterleave interleave, TensorMapSwizzle swizzle, TensorMapPromotion,
                                       TensorMapFill fill) {
  ENTER("cuTensorMapEncodeTiled");
  const auto value = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  if (rank < 2 || rank > 3 || value(map) % 64 != 0 || address == nullptr || value(address) % 16 != 0 ||
      interleave != TensorMapInterleave::none || fill != TensorMapFill::zeros) {
    return kErrorInvalidValue;
  }
  for (unsigned i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || box[i] == 0 || box[i] > 256 || element_strides[i] != 1) return kErrorInvalidValue;
    if (i + 1 < rank && strides[i] % 16 != 0) return kErrorInvalidValue;
  }
  const bool planes = rank == 3;
  const test::RecordedMap record{address,
                                 sizes[0],
                                 sizes[1],
                                 planes ? sizes[2] : 0,
                                 strides[0],
                                 planes ? strides[1] : 0,
                                 box[0],
                                 box[1],
                                 planes ? box[2] : 0,
                                 static_cast<int>(type),
                                 static_cast<int>(swizzle)};
  std::memcpy(map, &record, sizeof record);
  return kSuccess;
}

EXPORT CuResult cuMemsetD8Async(DevicePtr destination, unsigned char value, std::size_t count, Stream) {
  ENTER("cuMemsetD8Async");
  if (destination == 0 || count == 0) return kErrorInvalidValue;
  // Unit tests pass addresses that stand for device memory; programs pass what cuMemAlloc gave them.
  if (world().memory.count(destination) != 0) std::memset(reinterpret_cast<void*>(destination), value, count);
  return kSuccess;
}

// ---- what the programs of tests/gpu and bench/kernels need beside it: memory is the host's, nothing is computed ----

namespace {

bool inside(DevicePtr pointer, std::size_t bytes) {
  World& w = world();
  auto found = w.memory.upper_bound(pointer);
  if (found != w.memory.begin() && (--found, pointer + bytes <= found->first + found->second)) return true;
  w.state.violations.emplace_back("copy or memset outside allocated memory");
  return false;
}

}  // namespace

EXPORT CuResult cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = world().state.devices;
  return kSuccess;
}

EXPORT CuResult cuDeviceGetName(char* name, int size, Device) {
  ENTER("cuDeviceGetName");
  ::snprintf(name, static_cast<std::size_t>(size), "recording libcuda");
  return kSuccess;
}

EXPORT CuResult cuCtxCreate_v2(Context* context, unsigned, Device device) {
  ENTER("cuCtxCreate_v2", true, false);
  *context = make_context(device);
  current.push_back(*context);
  return kSuccess;
}

EXPORT CuResult cuCtxDestroy_v2(Context context) {
  ENTER("cuCtxDestroy_v2");
  if (world().contexts.count(context) == 0) return kErrorInvalidContext;
  std::erase(current, context);
  drop_context(context);
  return kSuccess;
}

EXPORT CuResult cuCtxSetCurrent(Context context) {
  ENTER("cuCtxSetCurrent");
  current.clear();
  if (context != nullptr) current.push_back(context);
  return kSuccess;
}

EXPORT CuResult cuCtxSynchronize() {
  ENTER("cuCtxSynchronize", true, false);
  return kSuccess;
}

EXPORT CuResult cuMemAlloc_v2(DevicePtr* pointer, std::size_t bytes) {
  ENTER("cuMemAlloc_v2", true, false);
  if (bytes == 0) return kErrorInvalidValue;
  *pointer = reinterpret_cast<DevicePtr>(::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (*pointer == 0) return kErrorOutOfMemory;
  world().memory[*pointer] = bytes;
  return kSuccess;
}

EXPORT CuResult cuMemFree_v2(DevicePtr pointer) {
  ENTER("cuMemFree_v2");
  if (world().memory.erase(pointer) == 0) return kErrorInvalidValue;
  ::free(reinterpret_cast<void*>(pointer));
  return kSuccess;
}

EXPORT CuResult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  ENTER("cuMemGetInfo_v2");
  *free_bytes = *total = std::size_t{8} << 30;
  return kSuccess;
}

EXPORT CuResult cuMemcpyHtoD_v2(DevicePtr to, const void* from, std::size_t bytes) {
  ENTER("cuMemcpyHtoD_v2", true, false);
  if (!inside(to, bytes)) return kErrorInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}

EXPORT CuResult cuMemcpyDtoH_v2(void* to, DevicePtr from, std::size_t bytes) {
  ENTER("cuMemcpyDtoH_v2", true, false);
  if (!inside(from, bytes)) return kErrorInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

EXPORT CuResult cuMemcpyDtoD_v2(DevicePtr to, DevicePtr from, std::size_t bytes) {
  ENTER("cuMemcpyDtoD_v2", true, false);
  if (!inside(to, bytes) || !inside(from, bytes)) return kErrorInvalidValue;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

EXPORT CuResult cuMemsetD8_v2(DevicePtr to, unsigned char value, std::size_t bytes) {
  ENTER("cuMemsetD8_v2", true, false);
  if (!inside(to, bytes)) return kErrorInvalidValue;
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return kSuccess;
}

EXPORT CuResult cuStreamCreate(Stream* stream, unsigned) {
  ENTER("cuStreamCreate", true, false);
  *stream = reinterpret_cast<Stream>(new char);
  return kSuccess;
}

EXPORT CuResult cuStreamDestroy_v2(Stream stream) {
  ENTER("cuStreamDestroy_v2");
  delete reinterpret_cast<char*>(stream);
  return kSuccess;
}

EXPORT CuResult cuStreamSynchronize(Stream) {
  ENTER("cuStreamSynchronize", true, false);
  return kSuccess;
}

EXPORT CuResult cuStreamBeginCapture_v2(Stream, int) {
  ENTER("cuStreamBeginCapture_v2", true, false);
  world().state.capturing = true;
  return kSuccess;
}

EXPORT CuResult cuStreamEndCapture(Stream, void** graph) {
  ENTER("cuStreamEndCapture");
  world().state.capturing = false;
  *graph = new char;
  return kSuccess;
}

EXPORT CuResult cuGraphInstantiateWithFlags(void** executable, void*, unsigned long long) {
  ENTER("cuGraphInstantiateWithFlags", true, false);
  *executable = new char;
  return kSuccess;
}

EXPORT CuResult cuGraphLaunch(void*, Stream) {
  ENTER("cuGraphLaunch", true, false);
  return kSuccess;
}

EXPORT CuResult cuGraphDestroy(void* graph) {
  ENTER("cuGraphDestroy");
  delete static_cast<char*>(graph);
  return kSuccess;
}

EXPORT CuResult cuGraphExecDestroy(void* executable) {
  ENTER("cuGraphExecDestroy");
  delete static_cast<char*>(executable);
  return kSuccess;
}

EXPORT CuResult cuEventCreate(void** event, unsigned) {
  ENTER("cuEventCreate", true, false);
  *event = new char;
  return kSuccess;
}

EXPORT CuResult cuEventDestroy_v2(void* event) {
  ENTER("cuEventDestroy_v2");
  delete static_cast<char*>(event);
  return kSuccess;
}

EXPORT CuResult cuEventRecord(void*, Stream) {
  ENTER("cuEventRecord");
  return kSuccess;
}

EXPORT CuResult cuEventSynchronize(void*) {
  ENTER("cuEventSynchronize", true, false);
  return kSuccess;
}

EXPORT CuResult cuEventElapsedTime(float* ms, void*, void*) {
  ENTER("cuEventElapsedTime");
  *ms = 1;
  return kSuccess;
}

// ---- what tests ask for ----

EXPORT test::RecordingState* recording_cuda_state() {
  return &world().state;
}

EXPORT void recording_cuda_reset() {
  const std::lock_guard lock(mutex);
  world().state = {};
  world().state.libraries_alive = static_cast<int>(world().libraries.size());
  for (const auto& [device, primary] : world().primary) world().state.primary_retains += primary.second;
  current.clear();
}

EXPORT void* recording_cuda_create_context(int device) {
  const std::lock_guard lock(mutex);
  return make_context(device);
}

EXPORT void recording_cuda_destroy_context(void* context) {
  const std::lock_guard lock(mutex);
  drop_context(static_cast<ContextObject*>(context));
}

EXPORT void recording_cuda_set_current(void* context) {
  current.clear();
  if (context != nullptr) current.push_back(static_cast<ContextObject*>(context));
}
