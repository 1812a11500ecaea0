// The driver for tests and benches: what client/driver has, and memory, streams, events and graphs on top. Every call
// goes through GPU(...): a failure prints the call and ends the program, since nothing after it would mean anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/driver/driver_api.hpp"

// As CUBIND_DRIVER_API: X(name in the table, exported symbol, parameters).
#define CUBIND_GPU_API(X)                                                                                         \
  X(device_get_count, "cuDeviceGetCount", (int* count))                                                           \
  X(device_get_name, "cuDeviceGetName", (char* name, int size, cuda::Device device))                              \
  X(context_create, "cuCtxCreate_v2", (cuda::Context * context, unsigned flags, cuda::Device device))             \
  X(context_destroy, "cuCtxDestroy_v2", (cuda::Context context))                                                  \
  X(context_set_current, "cuCtxSetCurrent", (cuda::Context context))                                              \
  X(context_synchronize, "cuCtxSynchronize", ())                                                                  \
  X(mem_alloc, "cuMemAlloc_v2", (cuda::DevicePtr * pointer, std::size_t bytes))                                   \
  X(mem_free, "cuMemFree_v2", (cuda::DevicePtr pointer))                                                          \
  X(mem_get_info, "cuMemGetInfo_v2", (std::size_t * free, std::size_t * total))                                   \
  X(copy_to_device, "cuMemcpyHtoD_v2", (cuda::DevicePtr to, const void* from, std::size_t bytes))                 \
  X(copy_to_host, "cuMemcpyDtoH_v2", (void* to, cuda::DevicePtr from, std::size_t bytes))                         \
  X(copy_on_device, "cuMemcpyDtoD_v2", (cuda::DevicePtr to, cuda::DevicePtr from, std::size_t bytes))             \
  X(memset_d8, "cuMemsetD8_v2", (cuda::DevicePtr to, unsigned char value, std::size_t count))                     \
  X(stream_create, "cuStreamCreate", (cuda::Stream * stream, unsigned flags))                                     \
  X(stream_destroy, "cuStreamDestroy_v2", (cuda::Stream stream))                                                  \
  X(stream_synchronize, "cuStreamSynchronize", (cuda::Stream stream))                                             \
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

namespace cubind::test {

struct GpuApi : cuda::DriverApi {
#define CUBIND_DECLARE(name, symbol, parameters) cuda::CuResult(*name) parameters = nullptr;
  CUBIND_GPU_API(CUBIND_DECLARE)
#undef CUBIND_DECLARE
};

// Why nothing can run here, in one line; empty if there is a driver and a device.
std::string no_gpu_reason();

// Precondition: no_gpu_reason() is empty.
const GpuApi& gpu();
[[noreturn]] void gpu_failed(const char* call, int result, const char* file, int line);

#define GPU(name, ...)                                                                     \
  do {                                                                                     \
    if (const int gpu_result_ = ::cubind::test::gpu().name(__VA_ARGS__); gpu_result_ != 0) \
      ::cubind::test::gpu_failed(#name, gpu_result_, __FILE__, __LINE__);                  \
  } while (false)

// With --dry-run the programs do everything but judge: to try them on the recording libcuda, which computes nothing.
bool& dry_run();

// Exit code of a test program that could not run; ctest knows it as skipped.
inline constexpr int kSkipped = 77;

// Device 0's primary context, current on this thread while it lives.
class PrimaryContext {
 public:
  PrimaryContext();
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  cuda::Context get() const { return context_; }

 private:
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
};

// Device memory; move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) : bytes_(bytes) { GPU(mem_alloc, &pointer_, bytes); }
  Buffer(Buffer&& other) noexcept
      : pointer_(std::exchange(other.pointer_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (pointer_ != 0) gpu().mem_free(pointer_);
  }

  cuda::DevicePtr get() const { return pointer_; }
  void* data() const { return reinterpret_cast<void*>(pointer_); }
  void* at(std::size_t offset) const { return reinterpret_cast<void*>(pointer_ + offset); }
  std::size_t bytes() const { return bytes_; }
  void fill(unsigned char value) const { GPU(memset_d8, pointer_, value, bytes_); }

  template <class T>
  std::vector<T> read(std::size_t count) const {
    std::vector<T> values(count);
    GPU(copy_to_host, values.data(), pointer_, count * sizeof(T));
    return values;
  }

 private:
  cuda::DevicePtr pointer_ = 0;
  std::size_t bytes_ = 0;
};

class Stream {
 public:
  Stream() { GPU(stream_create, &stream_, 1); }  // CU_STREAM_NON_BLOCKING
  ~Stream() { gpu().stream_destroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cuda::Stream get() const { return stream_; }
  void synchronize() const { GPU(stream_synchronize, stream_); }

 private:
  cuda::Stream stream_ = nullptr;
};

// What `record` enqueues on the stream, captured (thread-local mode: everything unsafe fails) and instantiated.
class Graph {
 public:
  template <class Record>
  Graph(const Stream& stream, Record record) {
    GPU(stream_begin_capture, stream.get(), 1);
    record();
    void* graph = nullptr;
    GPU(stream_end_capture, stream.get(), &graph);
    GPU(graph_instantiate, &executable_, graph, 0ull);
    GPU(graph_destroy, graph);
  }
  ~Graph() { gpu().graph_executable_destroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const Stream& stream) const { GPU(graph_launch, executable_, stream.get()); }

 private:
  void* executable_ = nullptr;
};

// Milliseconds between start() and stop() on a stream.
class Timer {
 public:
  Timer() {
    GPU(event_create, &from_, 0u);
    GPU(event_create, &to_, 0u);
  }
  ~Timer() {
    gpu().event_destroy(from_);
    gpu().event_destroy(to_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  void start(const Stream& stream) const { GPU(event_record, from_, stream.get()); }
  float stop(const Stream& stream) const {
    GPU(event_record, to_, stream.get());
    GPU(event_synchronize, to_);
    float ms = 0;
    GPU(event_elapsed, &ms, from_, to_);
    return ms;
  }

 private:
  void* from_ = nullptr;
  void* to_ = nullptr;
};

}  // namespace cubind::test
