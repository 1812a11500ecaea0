// What tune needs of the driver beside loading and launching: memory, and the time of launches in a CUDA graph. The
// device's primary context is current on this thread while it lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "client/driver/device.hpp"
#include "client/driver/handles.hpp"

namespace cubind::cli {

struct BenchApi;  // the functions, opened at run time

// Device memory, freed with it. What it belongs to lives longer.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const BenchApi* api, cuda::DevicePtr pointer, std::size_t bytes)
      : api_(api), pointer_(pointer), bytes_(bytes) {}
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();
  cuda::DevicePtr get() const { return pointer_; }
  void* at(std::size_t offset) const { return reinterpret_cast<void*>(pointer_ + offset); }
  std::size_t bytes() const { return bytes_; }

 private:
  const BenchApi* api_ = nullptr;
  cuda::DevicePtr pointer_ = 0;
  std::size_t bytes_ = 0;
};

class DeviceBench {
 public:
  static Result<std::unique_ptr<DeviceBench>> open(int device);
  ~DeviceBench();

  const cuda::DriverApi& api() const;
  const cuda::DeviceTarget& target() const { return target_; }
  std::string device_name() const;
  int driver_version() const;
  cuda::Stream stream() const { return stream_; }

  // Zeroes, or random bits that are finite numbers of 16 bits around one.
  Result<DeviceMemory> zeroed(std::size_t bytes) const;
  Result<DeviceMemory> random(std::size_t bytes) const;

  // Median microseconds of one of `count` launches, captured in turn into one graph. launch(i) enqueues one on
  // stream(). If the first replay takes longer than give_up_us a launch, its time is the answer.
  Result<double> graph_us(std::size_t count, double give_up_us, const std::function<Status(std::size_t)>& launch) const;

 private:
  DeviceBench() = default;
  Status begin(int device);
  Result<DeviceMemory> allocate(std::size_t bytes) const;

  std::unique_ptr<const BenchApi> api_;
  std::shared_ptr<const cuda::PrimaryContext> primary_;
  std::unique_ptr<cuda::ContextScope> scope_;
  cuda::DeviceTarget target_;
  cuda::Device device_ = 0;
  cuda::Stream stream_ = nullptr;
  void* begin_event_ = nullptr;
  void* end_event_ = nullptr;
};

}  // namespace cubind::cli
