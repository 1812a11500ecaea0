// A layer's kernels in one CUDA context, and the launch: the only code that runs for every token. Immutable: any number
// of threads may launch. No lock, no allocation and no system call on the way, and of the driver only cuLaunchKernel
// and, for kernels that take tensor maps, cuTensorMapEncodeTiled, which computes; so a launch can be captured into a
// graph.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/layer.hpp"
#include "client/loaded_kernel.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind {

struct LaunchArgs {
  const void* x = nullptr;
  const void* weights = nullptr;
  const void* scales = nullptr;
  const void* zeros = nullptr;
  const void* bias = nullptr;
  void* out = nullptr;
  void* workspace = nullptr;
  std::uint64_t workspace_bytes = 0;
  std::uint32_t m = 0, ldx = 0, ldo = 0;
  cuda::Stream stream = nullptr;
};

class LoadedLayer {
 public:
  // Into the current context; `primary` is kept alive with the layer (null: the context is the caller's).
  static Result<std::unique_ptr<LoadedLayer>> load(const cuda::DriverApi& api, const PreparedLayer& layer,
                                                   std::shared_ptr<const cuda::PrimaryContext> primary);

  // Enqueues. A failure is invalid_argument (field, value, rule), not_supported in a forked child, or the driver's.
  Status launch(const LaunchArgs& args) const;

 private:
  struct Row {
    std::uint32_t m_last;
    cuda::Function function;
    std::uint32_t threads, smem_bytes, tile_m, tile_n, tile_k;
    std::uint32_t splits, k_tiles_per_split;
    bool mapped;  // launch_abi 2
  };

  LoadedLayer(const cuda::DriverApi& api, std::shared_ptr<const cuda::PrimaryContext> primary);
  Status refuse(const LaunchArgs& args, const Row* row) const;
  std::uint64_t row_workspace(const Row& row, std::uint32_t m) const;
  Status encode_maps(MappedGemmParams& params, const Row& row) const;

  const cuda::DriverApi& api_;
  std::shared_ptr<const cuda::PrimaryContext> primary_;
  std::vector<LoadedKernelPtr> kernels_;
  std::vector<Row> rows_;
  std::uint32_t n_ = 0, k_ = 0, max_m_ = 0;
  std::uint32_t k_groups_ = 1, group_shift_ = 31;
  std::uint32_t sm_count_ = 0;
  bool zeros_ = false, bias_ = false;
  std::uint32_t generation_;
};

}  // namespace cubind
