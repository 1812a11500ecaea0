// What is computed: operation, types, scale layout, epilogue. Closed enums and integers; never source text. The full
// set of fields is here from the first day; what the generator does not serve is refused as not_supported by the
// planner (codegen/plan/planner.hpp), not here. Enum values are on the wire and in keys: never renumber.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "protocol/dtype.hpp"

namespace cubind {

enum class GemmKind : std::uint8_t { dense = 0, grouped_contiguous = 1, grouped_masked = 2, indexed = 3 };
enum class ScaleKind : std::uint8_t {
  none = 0,
  tensor = 1,   // one scale for the whole matrix
  channel = 2,  // weights: one per output feature n; activations: one per token
  group = 3,    // one per `group` consecutive k, for each n (weights) or token (activations)
  block = 4,    // one per group_k x group_n block of weights
};
enum class ZeroPointKind : std::uint8_t {
  none = 0,      // symmetric: integer weights are stored as q + 2^(bits-1)
  integer = 1,   // one unsigned integer zero point beside each weight scale: w = s * (q - z)
  floating = 2,  // w = s * q - z, z of the scale's type
};
enum class Activation : std::uint8_t { none = 0, relu = 1, relu2 = 2, silu = 3, gelu = 4, silu_mul = 5, gelu_mul = 6 };
enum class Accumulation : std::uint8_t {
  f32 = 0,           // FP32, or INT32 for integer MMA
  f16 = 1,           // FP16 accumulators
  f32_promoted = 2,  // Hopper FP8: tensor-core accumulator promoted to FP32 every promotion_k
};
enum class Determinism : std::uint8_t {
  run_to_run = 0,       // same inputs, same GPU: same bits. Always holds
  sm_count = 1,         // and independent of the number of SMs
  batch_invariant = 2,  // and a row's result does not depend on m
};

struct GemmDescriptor {
  GemmKind kind = GemmKind::dense;

  DType activation = DType::bf16;  // x
  DType weight = DType::int4;      // w
  DType output = DType::bf16;

  ScaleKind weight_scale = ScaleKind::group;
  DType weight_scale_type = DType::bf16;
  std::uint32_t group_k = 128;       // k per weight scale for group and block, else 0
  std::uint32_t group_n = 0;         // n per weight scale for block, else 0
  bool weight_global_scale = false;  // one more f32 factor (NVFP4)
  ZeroPointKind zero_point = ZeroPointKind::none;

  ScaleKind activation_scale = ScaleKind::none;
  DType activation_scale_type = DType::none;
  std::uint32_t activation_group_k = 0;  // k per activation scale for group, else 0

  bool bias = false;  // [n], of the output's type
  Activation epilogue = Activation::none;
  Accumulation accumulation = Accumulation::f32;
  std::uint32_t promotion_k = 0;  // for f32_promoted, else 0
  Determinism determinism = Determinism::run_to_run;

  bool operator==(const GemmDescriptor&) const = default;
};

// The descriptor's own rules, independent of architecture, tiles and what is built so far (facts: types that exist in
// each role, scale kinds that go together, groups that nest with the k of one MMA). invalid_argument names field, value
// and rule.
Status validate(const GemmDescriptor& descriptor);

// The rules that tie a layer's n and k to the descriptor: n and k at least 1, k a multiple of group_k (the message
// names the padding that would make it fit) and of 8 (16-byte rows). invalid_argument names field, value and rule.
Status validate_shape(const GemmDescriptor& descriptor, std::uint32_t n, std::uint32_t k);

// Only what code depends on: the value that goes into the kernel key. Groups of 64 and more and per-channel scales
// become one class (group_k 64: the shift is a run-time parameter), bias is cleared (a run-time pointer), determinism
// too (it changes plans, not code). Precondition: validate() passed.
GemmDescriptor canonical(const GemmDescriptor& descriptor);

// One line of name=value pairs, every field, in the order above: "kind=dense activation=bf16 ...". Used in keys and
// logs.
std::string to_string(const GemmDescriptor& descriptor);

// A short name for people: "w4a16-bf16-g128-zp".
std::string short_name(const GemmDescriptor& descriptor);

// The inverse of short_name for the formats this version serves ("w4a16-bf16-g128", "w4a16-f16-ch-zp");
// invalid_argument names the part that is wrong and lists what is accepted there.
Result<GemmDescriptor> descriptor_from_name(std::string_view name);

std::string_view to_string(DType type);
std::string_view to_string(GemmKind kind);
std::string_view to_string(ScaleKind kind);
std::string_view to_string(ZeroPointKind kind);
std::string_view to_string(Activation activation);
std::string_view to_string(Accumulation accumulation);
std::string_view to_string(Determinism determinism);
Result<DType> dtype_from_string(std::string_view name);

}  // namespace cubind
