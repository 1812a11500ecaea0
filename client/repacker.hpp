// The repack of client/weights on a GPU: device memory in, device memory out, the same bytes as on the CPU. Immutable:
// any number of threads may use one. Enqueues one launch and returns; no allocation, no synchronisation.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "client/driver/handles.hpp"
#include "client/weights/pack.hpp"

namespace cubind {

enum class CheckpointLayout : std::uint8_t { awq = 0, gptq = 1, gptq_v2 = 2 };

// Device memory, as weights/repack.hpp describes the tensors.
struct DeviceTensors {
  CheckpointLayout layout = CheckpointLayout::awq;
  const void* qweight = nullptr;
  const void* qzeros = nullptr;  // may be null for a layout without zero points
  const void* scales = nullptr;
  DType scale_type = DType::f16;
  const void* k_order = nullptr;  // act_order()'s, or null: k in their own order
  void* fault = nullptr;          // one word; stays as it is unless a number breaks a rule of the CPU's
  cuda::Stream stream = nullptr;
};
struct DevicePacked {
  void* weights = nullptr;
  void* scales = nullptr;
  void* zeros = nullptr;
};

class Repacker {
 public:
  // In the current context; `primary` is kept alive with it (null: the context is the caller's).
  static Result<std::unique_ptr<Repacker>> open(const cuda::DriverApi& api,
                                                std::shared_ptr<const cuda::PrimaryContext> primary);

  // Sizes are the layout's. Failures: invalid_argument (field, value, rule), not_supported in a forked child, or the
  // driver's.
  Status repack(const PackedLayout& layout, const DeviceTensors& tensors, const DevicePacked& out) const;

 private:
  Repacker(const cuda::DriverApi& api, std::shared_ptr<const cuda::PrimaryContext> primary);

  const cuda::DriverApi& api_;
  std::shared_ptr<const cuda::PrimaryContext> primary_;
  std::shared_ptr<const cuda::LibraryBox> library_;
  cuda::Function function_ = nullptr;
  std::uint32_t sm_count_ = 0;
  std::uint32_t generation_;
};

}  // namespace cubind
