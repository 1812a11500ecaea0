#include "client/cli/device_bench.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <dlfcn.h>

namespace cubind::cli {

// As CUBIND_DRIVER_API: X(name in the table, exported symbol, parameters).
#define CUBIND_BENCH_API(X)                                                                                       \
  X(device_get_name, "cuDeviceGetName", (char* name, int size, cuda::Device device))                              \
  X(mem_alloc, "cuMemAlloc_v2", (cuda::DevicePtr * pointer, std::size_t bytes))                                   \
  X(mem_free, "cuMemFree_v2", (cuda::DevicePtr pointer))                                                          \
  X(copy_to_device, "cuMemcpyHtoD_v2", (cuda::DevicePtr to, const void* from, std::size_t bytes))                 \
  X(memset_d8, "cuMemsetD8_v2", (cuda::DevicePtr to, unsigned char value, std::size_t count))                     \
  X(stream_create, "cuStreamCreate", (cuda::Stream * stream, unsigned flags))                                     \
  X(stream_destroy, "cuStreamDestroy_v2", (cuda::Stream stream))                                                  \
  X(stream_begin_capture, "cuStreamBeginCapture_v2", (cuda::Stream stream, int mode))                             \
  X(stream_end_capture, "cuStreamEndCapture", (cuda::Stream stream, void** graph))                                \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (void** executable, void* graph, unsigned long long flags)) \
  X(graph_launch, "cuGraphLaunch", (void* executable, cuda::Stream stream))                                       \
  X(graph_destroy, "cuGraphDestroy", (void* graph))                                                               \
  X(graph_executable_destroy, "cuGraphExecDestroy", (void* executable))                                           \
  X(event_create, "cuEventCreate", (void** event, unsigned flags))                                                \
  X(event_destroy, "cuEventDestroy_v2", (void* event))                                                            \
  X(event_record, "cuEventRecord", (void* event, cuda::Stream stream))                                            \
  X(event_synchronize, "cuEventSynchronize", (void* event))                                                       \
  X(event_elapsed, "cuEventElapsedTime", (float* ms, void* from, void* to))

struct BenchApi : cuda::DriverApi {
#define CUBIND_DECLARE(name, symbol, parameters) cuda::CuResult(*name) parameters = nullptr;
  CUBIND_BENCH_API(CUBIND_DECLARE)
#undef CUBIND_DECLARE
};

namespace {

constexpr int kReplays = 5;
constexpr unsigned kNonBlocking = 1;       // CU_STREAM_NON_BLOCKING
constexpr int kThreadLocalCapture = 1;     // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr std::size_t kPattern = 8 << 20;  // random bytes that are made; the rest repeats them

Result<std::unique_ptr<const BenchApi>> open_api() {
  CUBIND_TRY(const auto* driver, cuda::driver());
  auto api = std::make_unique<BenchApi>();
  static_cast<cuda::DriverApi&>(*api) = *driver;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // open already
  const auto resolve = [library](auto& pointer, const char* symbol) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(::dlsym(library, symbol));
    return pointer != nullptr;
  };
  bool all = library != nullptr;
#define CUBIND_RESOLVE(name, symbol, parameters) all = all && resolve(api->name, symbol);
  CUBIND_BENCH_API(CUBIND_RESOLVE)
#undef CUBIND_RESOLVE
  if (!all) return Error{ErrorCode::not_supported, "the driver lacks functions of CUDA 12.0"};
  return std::unique_ptr<const BenchApi>(std::move(api));
}

// A captured graph, ready to be launched.
class Graph {
 public:
  Graph(const BenchApi& api, void* executable) : api_(api), executable_(executable) {}
  ~Graph() { api_.graph_executable_destroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void* get() const { return executable_; }

 private:
  const BenchApi& api_;
  void* executable_;
};

}  // namespace

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(pointer_, other.pointer_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (pointer_ != 0) api_->mem_free(pointer_);
}

Result<std::unique_ptr<DeviceBench>> DeviceBench::open(int device) {
  std::unique_ptr<DeviceBench> made(new DeviceBench);
  CUBIND_TRY(made->api_, open_api());
  CUBIND_CHECK(made->begin(device));
  return made;
}

Status DeviceBench::begin(int device) {
  CUBIND_TRY(device_, cuda::device_at(*api_, device));
  CUBIND_TRY(target_, cuda::device_target(*api_, device_));
  CUBIND_TRY(primary_, cuda::PrimaryContext::retain(*api_, device_));
  CUBIND_TRY(auto scope, cuda::ContextScope::enter(*api_, primary_->get()));
  scope_ = std::make_unique<cuda::ContextScope>(std::move(scope));
  CUBIND_CU(*api_, stream_create, &stream_, kNonBlocking);
  CUBIND_CU(*api_, event_create, &begin_event_, 0u);
  CUBIND_CU(*api_, event_create, &end_event_, 0u);
  return {};
}

DeviceBench::~DeviceBench() {
  if (begin_event_ != nullptr) api_->event_destroy(begin_event_);
  if (end_event_ != nullptr) api_->event_destroy(end_event_);
  if (stream_ != nullptr) api_->stream_destroy(stream_);
}

const cuda::DriverApi& DeviceBench::api() const {
  return *api_;
}

std::string DeviceBench::device_name() const {
  char name[128] = "";
  api_->device_get_name(name, sizeof name - 1, device_);
  return name;
}

int DeviceBench::driver_version() const {
  int version = 0;
  api_->driver_get_version(&version);
  return version;
}

Result<DeviceMemory> DeviceBench::allocate(std::size_t bytes) const {
  cuda::DevicePtr pointer = 0;
  CUBIND_CU(*api_, mem_alloc, &pointer, std::max<std::size_t>(bytes, 256));
  return DeviceMemory(api_.get(), pointer, bytes);
}

Result<DeviceMemory> DeviceBench::zeroed(std::size_t bytes) const {
  CUBIND_TRY(auto memory, allocate(bytes));
  CUBIND_CU(*api_, memset_d8, memory.get(), static_cast<unsigned char>(0), std::max<std::size_t>(bytes, 256));
  return memory;
}

Result<DeviceMemory> DeviceBench::random(std::size_t bytes) const {
  static const std::vector<std::uint32_t> pattern = [] {
    std::mt19937 engine(1);
    std::vector<std::uint32_t> words(kPattern / 4);
    for (auto& word : words) word = (static_cast<std::uint32_t>(engine()) & 0x83ff83ffu) | 0x3c003c00u;
    return words;
  }();
  CUBIND_TRY(auto memory, allocate(bytes));
  for (std::size_t at = 0; at < bytes; at += kPattern) {
    CUBIND_CU(*api_, copy_to_device, memory.get() + at, pattern.data(), std::min(kPattern, bytes - at));
  }
  return memory;
}

Result<double> DeviceBench::graph_us(std::size_t count, double give_up_us,
                                     const std::function<Status(std::size_t)>& launch) const {
  CUBIND_CU(*api_, stream_begin_capture, stream_, kThreadLocalCapture);
  Status status;
  for (std::size_t i = 0; i < count && status; ++i) status = launch(i);
  void* captured = nullptr;
  CUBIND_CU(*api_, stream_end_capture, stream_, &captured);  // also after a failure: the stream must not stay so
  void* executable = nullptr;
  const auto made = status ? api_->graph_instantiate(&executable, captured, 0ull) : cuda::kSuccess;
  api_->graph_destroy(captured);
  CUBIND_CHECK(status);
  if (made != cuda::kSuccess) return cuda::driver_error(*api_, "graph_instantiate", made);
  const Graph graph(*api_, executable);
  std::vector<double> times;
  for (int replay = -1; replay < kReplays; ++replay) {  // the first one warms up
    CUBIND_CU(*api_, event_record, begin_event_, stream_);
    CUBIND_CU(*api_, graph_launch, graph.get(), stream_);
    CUBIND_CU(*api_, event_record, end_event_, stream_);
    CUBIND_CU(*api_, event_synchronize, end_event_);
    float ms = 0;
    CUBIND_CU(*api_, event_elapsed, &ms, begin_event_, end_event_);
    const double us = static_cast<double>(ms) * 1000 / static_cast<double>(count);
    if (us > give_up_us) return us;
    if (replay >= 0) times.push_back(us);
  }
  std::nth_element(times.begin(), times.begin() + kReplays / 2, times.end());
  return times[kReplays / 2];
}

}  // namespace cubind::cli
