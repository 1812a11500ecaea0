#include "client/driver/device.hpp"

namespace cubind::cuda {

Result<DeviceTarget> device_target(const DriverApi& api, Device device) {
  int major = 0, minor = 0, sm_count = 0, smem = 0;
  CUBIND_CU(api, device_get_attribute, &major, DeviceAttribute::compute_capability_major, device);
  CUBIND_CU(api, device_get_attribute, &minor, DeviceAttribute::compute_capability_minor, device);
  CUBIND_CU(api, device_get_attribute, &sm_count, DeviceAttribute::multiprocessor_count, device);
  CUBIND_CU(api, device_get_attribute, &smem, DeviceAttribute::max_shared_memory_per_block_optin, device);
  DeviceTarget target;
  target.arch.number = static_cast<std::uint16_t>(10 * major + minor);
  if (target.arch.number == 90) target.arch.suffix = 'a';  // wgmma and TMA code
  target.sm_count = static_cast<std::uint32_t>(sm_count);
  target.max_smem_bytes = static_cast<std::uint32_t>(smem);
  return target;
}

Result<Device> device_at(const DriverApi& api, int ordinal) {
  Device device = 0;
  if (const CuResult result = api.device_get(&device, ordinal); result != kSuccess) {
    Error error = driver_error(api, "device_get", result);
    error.message = "device \"" + std::to_string(ordinal) + "\": " + error.message;
    return error;
  }
  return device;
}

Result<Device> current_device(const DriverApi& api) {
  Context context = nullptr;
  CUBIND_CU(api, context_get_current, &context);
  if (context == nullptr) return Error{ErrorCode::invalid_argument, "no CUDA context is current on this thread"};
  Device device = 0;
  CUBIND_CU(api, context_get_device, &device);
  return device;
}

bool runs_on(Arch cubin, Arch device) {
  if (cubin.suffix == 'a') return cubin.number == device.number;
  return cubin.major() == device.major() && cubin.number <= device.number;
}

}  // namespace cubind::cuda
