// A prepared layer: its launch table and the kernels that the table names. No CUDA in it; immutable, so any number of
// threads may read one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/client.hpp"
#include "client/kernel_cache.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct PreparedLayer {
  struct Entry {
    PreparedKernelPtr kernel;
    Outcome outcome = Outcome::none;  // none: it was held already
  };

  LayerSpec spec;
  Arch arch;                    // as it was asked for
  std::vector<LaunchRow> rows;  // cover [1, spec.max_m], ascending; kernel is an index into kernels
  std::vector<Entry> kernels;

  // The row of an m in [1, max_m].
  const LaunchRow& row_of(std::uint32_t m) const;
  // m = 0: the most that any m needs; above max_m: 0.
  std::uint64_t workspace_bytes(std::uint32_t m) const;
};

struct PrepareOptions {
  Arch arch;
  std::uint32_t sm_count = 0;
  RequestMode mode = RequestMode::wait;
  std::chrono::milliseconds deadline{0};  // 0 = the client's
  std::uint32_t max_cuda = 0;             // 0 = any toolchain
  std::vector<std::string> excluded_toolchains;
  std::function<bool(const ProgressReply&)> progress;  // false cancels
};

// One request for all layers: all of them, in order, or the first thing that is wrong: the daemon's refusal, a kernel
// that cannot be had (the message names it), `pending`, or `corruption` if a table or kernel breaks its rules.
Result<std::vector<std::unique_ptr<PreparedLayer>>> prepare_layers(Client& client, KernelCache& cache,
                                                                   const std::vector<LayerSpec>& layers,
                                                                   const PrepareOptions& options);

// Has the whole reachable catalogue of the layers' formats compiled and stored; transfers no code. `failure` receives
// the first kernel that failed, if it is not null.
Result<SummaryReply> prewarm_layers(Client& client, const std::vector<LayerSpec>& layers, const PrepareOptions& options,
                                    Error* failure);

}  // namespace cubind
