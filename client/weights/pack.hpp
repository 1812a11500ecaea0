// Weights as the kernels read them (weight_layout 1, protocol/kernel_abi.hpp): the sizes of a layer's three buffers,
// and packing from plain arrays. Repacking of checkpoints is repack.hpp; the way back is reference.hpp.
//
// q: [np/16][kp/64][lane 32][step 4] u32, np = n rounded up to 16, kp = k rounded up to 64. Lane (g = lane / 4,
// t = lane % 4) of the 16 x 64 unit; nibble j + 4h of word `step` (bits 4 * j + 16 * h) is
//   row g + 8 * (j % 2), column 16 * step + 8 * (j / 2) + 2 * t + h
// which is element h of register j of the A fragment of mma.m16n8k16 (PTX ISA), so a kernel loads 16 bytes a lane and
// never shuffles. Symmetric weights store q + 8. scales and zeros: [np/16][kg][8][2], pair g is rows {g, g + 8}.
//
// Padding has the value zero: rows above n get scale 0 and zero point 0; columns above k get q = 8, or the zero point
// of the last group where there are zero points.
//
// A fused layer (qkv, gate_up) is the concatenation of its parts along n: pack the concatenated arrays, or, where every
// part's n is a multiple of 16, concatenate the packed parts.
//
// All functions are pure and thread-safe; inputs and outputs belong to the caller and must not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "protocol/gemm_descriptor.hpp"

namespace cubind {

inline constexpr std::uint32_t kPackRows = 16;     // n is padded to this
inline constexpr std::uint32_t kPackColumns = 64;  // k is padded to this

struct PackedLayout {
  std::uint32_t n = 0, k = 0;  // as the layer has them
  std::uint32_t n_tiles = 0;   // np / 16
  std::uint32_t k_tiles = 0;   // kp / 64
  std::uint32_t k_groups = 0;  // kg: 1 for per channel
  std::uint32_t group_k = 0;   // k a scale; k itself for per channel
  bool zero_points = false;
  DType scale_type = DType::bf16;  // f16 or bf16
  std::size_t weight_bytes = 0;
  std::size_t scale_bytes = 0;
  std::size_t zero_bytes = 0;  // 0 for symmetric weights

  // Of the group `k_group` and row `n_row`, in elements of scales and of zeros.
  std::size_t scale_index(std::uint32_t n_row, std::uint32_t k_group) const {
    const std::size_t tile = n_row / kPackRows, row = n_row % kPackRows;
    return ((tile * k_groups + k_group) * 8 + row % 8) * 2 + row / 8;
  }
  bool operator==(const PackedLayout&) const = default;
};

// invalid_argument if descriptor or shape breaks its rules (protocol/gemm_descriptor.hpp); not_supported, naming field
// and value, for what weight_layout 1 does not hold: it holds int4 with group or channel scales of 16 bits, without or
// with integer zero points, dense.
Result<PackedLayout> packed_layout(const GemmDescriptor& descriptor, std::uint32_t n, std::uint32_t k);

// The three buffers, exactly as large as the layout says.
struct PackedView {
  std::span<std::byte> weights;  // 16-byte aligned
  std::span<std::byte> scales;   // 2-byte aligned
  std::span<std::byte> zeros;    // empty for symmetric weights
};
struct PackedWeights {
  Bytes weights, scales, zeros;
  PackedView view() { return {weights, scales, zeros}; }
};
PackedWeights allocate(const PackedLayout& layout);

// A layer's quantized weights as plain arrays, any n. Scales have the bits of `scale_type`; they are converted to the
// layout's type: f16 to bf16 rounds to nearest even (8 significant bits remain), bf16 to f16 refuses what
// overflows.
struct PlainWeights {
  std::span<const std::uint8_t> q;        // [n, k], 0..15; value is q - 8 for symmetric weights
  std::span<const std::uint16_t> scales;  // [n, kg]
  DType scale_type = DType::f16;          // f16 or bf16
  std::span<const std::uint8_t> zeros;    // [n, kg], 0..15; empty for symmetric weights
};

// invalid_argument names the array, position, value and rule; `out` is then unspecified.
Status pack(const PackedLayout& layout, const PlainWeights& weights, const PackedView& out);

}  // namespace cubind
