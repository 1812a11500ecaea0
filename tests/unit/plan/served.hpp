// Every descriptor that the generator serves on a target, and shapes to plan for.
#pragma once

#include <vector>

#include "codegen/plan/planner.hpp"

namespace cubind::served {

inline GemmDescriptor w4a16(DType activation, std::uint32_t group_k, ZeroPointKind zero_point) {
  GemmDescriptor d;
  d.activation = d.output = d.weight_scale_type = activation;
  d.weight_scale = group_k == 0 ? ScaleKind::channel : ScaleKind::group;
  d.group_k = group_k;
  d.zero_point = zero_point;
  return d;
}

inline std::vector<GemmDescriptor> descriptors(Arch arch) {
  std::vector<GemmDescriptor> all;
  for (const auto activation : {DType::f16, DType::bf16}) {
    if (activation == DType::bf16 && arch.number == 75) continue;
    for (const std::uint32_t group_k : {0u, 32u, 64u, 128u, 1024u}) {
      for (const auto zero_point : {ZeroPointKind::none, ZeroPointKind::integer}) {
        all.push_back(w4a16(activation, group_k, zero_point));
      }
    }
  }
  return all;
}

struct Layer {
  std::uint32_t n, k;
};
inline constexpr Layer kLlama8b[] = {{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}};
inline constexpr Layer kOdd[] = {{640, 2048}, {1, 1024}, {1001, 1024}, {1056, 4096}, {1u << 20, 1024}, {16, 1u << 20}};

}  // namespace cubind::served
