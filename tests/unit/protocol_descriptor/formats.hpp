// Legal descriptors of well-known formats, to start a test's change from.
#pragma once

#include "protocol/gemm_descriptor.hpp"

namespace cubind::formats {

inline GemmDescriptor w4a16(DType activation = DType::bf16) {
  GemmDescriptor d;
  d.activation = d.output = d.weight_scale_type = activation;
  return d;
}

// Per-channel weights and per-token activations of 8 bits: "w8a8".
inline GemmDescriptor w8a8(DType type) {
  GemmDescriptor d;
  d.activation = d.weight = type;
  d.weight_scale = ScaleKind::channel;
  d.weight_scale_type = DType::f32;
  d.group_k = 0;
  d.activation_scale = ScaleKind::channel;
  d.activation_scale_type = DType::f32;
  return d;
}

// 128 x 128 blocks, per-token groups of 128.
inline GemmDescriptor fp8_block() {
  auto d = w8a8(DType::e4m3);
  d.weight_scale = ScaleKind::block;
  d.group_k = d.group_n = 128;
  d.activation_scale = ScaleKind::group;
  d.activation_group_k = 128;
  d.accumulation = Accumulation::f32_promoted;
  d.promotion_k = 128;
  return d;
}

inline GemmDescriptor nvfp4() {
  GemmDescriptor d;
  d.activation = d.weight = DType::e2m1;
  d.weight_scale_type = d.activation_scale_type = DType::e4m3;
  d.group_k = d.activation_group_k = 16;
  d.activation_scale = ScaleKind::group;
  d.weight_global_scale = true;
  return d;
}

inline GemmDescriptor mxfp4(DType activation) {
  GemmDescriptor d;
  d.activation = activation;
  d.weight = DType::e2m1;
  d.weight_scale_type = DType::e8m0;
  d.group_k = 32;
  if (bits_of(activation) == 16) return d;
  d.activation_scale = ScaleKind::group;
  d.activation_scale_type = DType::e8m0;
  d.activation_group_k = 32;
  return d;
}

}  // namespace cubind::formats
