// Weights of AWQ and GPTQ checkpoints, 4 bits, to the packed layout. The layouts of the checkpoints, as AutoAWQ,
// AutoGPTQ and GPTQModel write them:
//
//   AWQ   qweight [k, n/8]: nibble i of word j is column 8j + {0, 2, 4, 6, 1, 3, 5, 7}[i]; qzeros [k/g, n/8] packed
//         alike, zero points as they are; scales [k/g, n].
//   GPTQ  qweight [k/8, n]: nibble i of word j is row (k) 8j + i; qzeros [k/g, n/8]: nibble i of word j is column 8j +
//   i;
//         scales [k/g, n]. Zero points are stored minus one, subtracted from the whole 32-bit word (0x11111111), except
//         in checkpoint_format gptq_v2. g_idx [k] maps a k to its group: anything but k / g is act-order
//         (act_order.hpp).
//
// A GPTQ zero point is 0 to 15, so a stored 15 is a 0 that borrowed from the next column, never 16: the word as a whole
// is added to, which gives both back. (Readers that add to each field by itself take it for 16, or miss the borrow.)
// What AutoGPTQ wrote for a 0 before gptq_v2 filled the rest of the word with ones: those columns are lost to any
// reader.
//
// n must be a multiple of 8 in both, k of 8 in GPTQ. A layout without zero points (GPTQ sym) accepts qzeros only if
// every zero point is 8, which is what those checkpoints hold. Pure and thread-safe; nothing is kept.
#pragma once

#include "client/weights/pack.hpp"

namespace cubind {

struct AwqTensors {
  std::span<const std::uint32_t> qweight;
  std::span<const std::uint32_t> qzeros;  // may be empty for a layout without zero points
  std::span<const std::uint16_t> scales;
  DType scale_type = DType::f16;
};

struct GptqTensors {
  std::span<const std::uint32_t> qweight;
  std::span<const std::uint32_t> qzeros;  // may be empty for a layout without zero points
  std::span<const std::uint16_t> scales;
  DType scale_type = DType::f16;
  std::span<const std::int32_t> g_idx;         // empty if the checkpoint has none
  bool v2 = false;                             // checkpoint_format gptq_v2: zero points as they are
  std::span<const std::int32_t> k_order = {};  // of act_order() for this g_idx; empty: g_idx must be k / g
};

// invalid_argument names tensor, position, value and rule; not_supported for act-order without k_order. `out` is then
// unspecified.
Status repack_awq(const PackedLayout& layout, const AwqTensors& tensors, const PackedView& out);
Status repack_gptq(const PackedLayout& layout, const GptqTensors& tensors, const PackedView& out);

}  // namespace cubind
