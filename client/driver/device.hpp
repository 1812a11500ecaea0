// What a device is, as far as kernels depend on it.
#pragma once

#include <cstdint>

#include "client/driver/driver_api.hpp"
#include "protocol/arch.hpp"

namespace cubind::cuda {

struct DeviceTarget {
  Arch arch;  // to ask for: sm_90a on compute capability 9.0, else without suffix
  std::uint32_t sm_count = 0;
  std::uint32_t max_smem_bytes = 0;  // a block may ask for
};

Result<DeviceTarget> device_target(const DriverApi& api, Device device);

// The device of an ordinal; invalid_argument names it if there is none.
Result<Device> device_at(const DriverApi& api, int ordinal);
// The device of the current context; invalid_argument if no context is current.
Result<Device> current_device(const DriverApi& api);

// May a cubin of this target run on a device that would ask for `device`? Same major and not above it; with suffix a
// only exactly there.
bool runs_on(Arch cubin, Arch device);

}  // namespace cubind::cuda
