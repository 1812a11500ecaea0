// Copies of a layer's packed weights for graph_timing.hpp.
#pragma once

#include <vector>

#include "bench/kernels/graph_timing.hpp"
#include "client/loaded_layer.hpp"
#include "tests/support/gpu/gemm_data.hpp"

namespace cubind::bench {

class RotatedWeights {
 public:
  explicit RotatedWeights(const test::LayerWeights& weights)
      : copies_(copies_for(weights.packed_bytes())),
        packed_(copy(weights.packed_buffer())),
        scales_(copy(weights.scales_buffer())),
        zeros_(copy(weights.zeros_buffer())) {}

  std::size_t copies() const { return copies_; }
  void use(std::size_t index, LaunchArgs& args) const {
    args.weights = packed_[index].data();
    args.scales = scales_[index].data();
    args.zeros = zeros_[index].data();
  }

 private:
  std::vector<test::Buffer> copy(const test::Buffer& from) const {
    std::vector<test::Buffer> made;
    for (std::size_t i = 0; i < copies_; ++i) {
      if (from.bytes() == 0) {
        made.emplace_back();
      } else {
        made.emplace_back(from.bytes());
        GPU(copy_on_device, made.back().get(), from.get(), from.bytes());
      }
    }
    return made;
  }

  std::size_t copies_;
  std::vector<test::Buffer> packed_, scales_, zeros_;
};

}  // namespace cubind::bench
