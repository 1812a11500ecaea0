// The rules of a descriptor, one function per group of fields. What each rule rests on: the MMA instructions' operand
// types, the exactness of the conversion from a weight to the activation's type, and the published number formats.
#include "protocol/gemm_descriptor.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "protocol/limits.hpp"

namespace cubind {
namespace {

struct FloatFormat {
  unsigned exponent = 0, mantissa = 0;
};

// Of the types that can be an activation or a weight; {0, 0} for all others.
FloatFormat float_format(DType type) {
  switch (type) {
    case DType::f16: return {5, 10};
    case DType::bf16: return {8, 7};
    case DType::e5m2: return {5, 2};
    case DType::e4m3: return {4, 3};
    case DType::e3m2: return {3, 2};
    case DType::e2m3: return {2, 3};
    case DType::e2m1: return {2, 1};
    case DType::e1m2: return {1, 2};
    case DType::e2m2: return {2, 2};
    case DType::e3m1: return {3, 1};
    case DType::e1m1: return {1, 1};
    case DType::e2m0: return {2, 0};
    case DType::e3m3: return {3, 3};
    case DType::e4m2: return {4, 2};
    default: return {};
  }
}

std::string quoted(std::string_view field, std::string_view value) {
  return std::string(field) + " \"" + std::string(value) + "\"";
}
std::string quoted(std::string_view field, std::uint32_t value) {
  return quoted(field, std::to_string(value));
}
template <class Enum>
std::string quoted(std::string_view field, Enum value) requires std::is_enum_v<Enum> {
  return quoted(field, to_string(value));
}

Error refuse(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

template <class Enum>
Status one_of(std::string_view field, Enum value, std::initializer_list<Enum> legal) {
  if (std::find(legal.begin(), legal.end(), value) != legal.end()) return {};
  std::string list;
  for (const auto each : legal) list.append(list.empty() ? "" : ", ").append(to_string(each));
  return refuse(quoted(field, value) + " is not one of " + list);
}

// A number that came over the wire and is no enumerator.
template <class Enum>
Status listed(std::string_view field, Enum value) {
  if (to_string(value) != "unknown") return {};
  return refuse(quoted(field, static_cast<std::uint32_t>(value)) + " is not a listed value of its enum");
}

Status zero_unless(std::string_view field, std::uint32_t value, bool used, std::string_view used_when) {
  if (used || value == 0) return {};
  return refuse(quoted(field, value) + " must be 0 unless " + std::string(used_when));
}

Status check_enums(const GemmDescriptor& d) {
  CUBIND_CHECK(listed("kind", d.kind));
  CUBIND_CHECK(listed("activation", d.activation));
  CUBIND_CHECK(listed("weight", d.weight));
  CUBIND_CHECK(listed("output", d.output));
  CUBIND_CHECK(listed("weight_scale", d.weight_scale));
  CUBIND_CHECK(listed("weight_scale_type", d.weight_scale_type));
  CUBIND_CHECK(listed("zero_point", d.zero_point));
  CUBIND_CHECK(listed("activation_scale", d.activation_scale));
  CUBIND_CHECK(listed("activation_scale_type", d.activation_scale_type));
  CUBIND_CHECK(listed("epilogue", d.epilogue));
  CUBIND_CHECK(listed("accumulation", d.accumulation));
  return listed("determinism", d.determinism);
}

// Which types exist in each role, and whether every weight value is exact in the activation's type.
Status check_types(const GemmDescriptor& d) {
  using enum DType;
  CUBIND_CHECK(one_of("activation", d.activation, {f16, bf16, e4m3, e5m2, e2m1, int8, int4}));
  CUBIND_CHECK(one_of("weight", d.weight, {int1, int2, int3, int4, int5, int6, int7, int8, e5m2, e4m3,
                                           e3m3, e4m2, e3m2, e2m3, e2m2, e3m1, e2m1, e1m2, e1m1, e2m0}));
  CUBIND_CHECK(one_of("output", d.output, {f16, bf16, f32}));

  const auto weight_bits = bits_of(d.weight);
  const auto pair = quoted("weight", d.weight) + " with " + quoted("activation", d.activation);
  if (weight_bits > bits_of(d.activation)) return refuse(pair + ": a weight has at most the activation's bits");

  const bool zero_point = d.zero_point != ZeroPointKind::none;
  if (is_integer(d.weight)) {
    // q - 2^(bits-1) needs bits - 1 magnitude bits and one value more; q - z needs one bit more than that.
    const auto limit = is_integer(d.activation) ? bits_of(d.activation) - (zero_point ? 1 : 0)
                                                : float_format(d.activation).mantissa + (zero_point ? 1 : 2);
    if (weight_bits > limit) {
      return refuse(pair + ": at most " + std::to_string(limit) + " bits are exact there" +
                    (zero_point ? " with zero points" : " without zero points"));
    }
    return {};
  }
  if (is_integer(d.activation)) {
    // A power-of-two group scale can be folded into e2m1, whose values then are small integers.
    const bool folded =
        d.weight == e2m1 && d.activation == int8 && d.weight_scale == ScaleKind::group && d.weight_scale_type == e8m0;
    if (!folded) {
      return refuse(pair + ": integer activations take integer weights (or e2m1 with e8m0 group scales and int8)");
    }
    return {};
  }
  const auto w = float_format(d.weight);
  const auto a = float_format(d.activation);
  if (w.exponent > a.exponent || w.mantissa > a.mantissa) {
    return refuse(pair + ": neither the weight's exponent nor its mantissa may be wider than the activation's");
  }
  return {};
}

Status check_group(std::string_view field, std::uint32_t group) {
  if (group < 16 || !std::has_single_bit(group)) {
    return refuse(quoted(field, group) + " is not a power of two of at least 16");
  }
  if (group > limits::kMaxNK) {
    return refuse(quoted(field, group) + " is more than " + std::to_string(limits::kMaxNK));
  }
  return {};
}

Status check_weight_scale(const GemmDescriptor& d) {
  using enum DType;
  const bool group = d.weight_scale == ScaleKind::group, block = d.weight_scale == ScaleKind::block;
  CUBIND_CHECK(zero_unless("group_k", d.group_k, group || block, "weight_scale is group or block"));
  CUBIND_CHECK(zero_unless("group_n", d.group_n, block, "weight_scale is block"));
  if (d.weight_scale == ScaleKind::none) {
    if (d.weight_scale_type != none) {
      return refuse(quoted("weight_scale_type", d.weight_scale_type) + " must be none if weight_scale is none");
    }
    if (d.weight_global_scale) return refuse("weight_global_scale \"true\" needs a weight_scale");
    return {};
  }
  CUBIND_CHECK(one_of("weight_scale_type", d.weight_scale_type, {f32, f16, bf16, e4m3, e5m2, e8m0}));
  if (bits_of(d.weight_scale_type) == 8 && !group && !block) {
    return refuse(quoted("weight_scale_type", d.weight_scale_type) +
                  " has 8 bits and needs weight_scale group or block, not " + quoted("weight_scale", d.weight_scale));
  }
  if (d.weight_global_scale && d.weight_scale == ScaleKind::tensor) {
    return refuse(
        "weight_global_scale \"true\" beside weight_scale \"tensor\": one of them is the factor of the matrix");
  }
  if (!group && !block) return {};

  CUBIND_CHECK(check_group("group_k", d.group_k));
  if (block && (d.group_n < 64 || !std::has_single_bit(d.group_n))) {
    return refuse(quoted("group_n", d.group_n) + " is not a power of two of at least 64");
  }
  if (group && d.weight_scale_type == e8m0 && d.group_k != 32) {
    return refuse(quoted("group_k", d.group_k) + " with weight_scale_type \"e8m0\": MX formats have groups of 32");
  }
  if (group && d.weight == e2m1 && d.weight_scale_type == e4m3 && d.group_k != 16) {
    return refuse(quoted("group_k", d.group_k) +
                  " with weight \"e2m1\" and weight_scale_type \"e4m3\": NVFP4 has groups of 16");
  }
  return {};
}

Status check_zero_point(const GemmDescriptor& d) {
  if (d.zero_point == ZeroPointKind::none) return {};
  const auto zero_point = quoted("zero_point", d.zero_point);
  if (!is_integer(d.weight)) return refuse(zero_point + " needs integer weights, not " + quoted("weight", d.weight));
  if (d.weight_scale != ScaleKind::group && d.weight_scale != ScaleKind::channel) {
    return refuse(zero_point + " needs weight_scale group or channel, not " + quoted("weight_scale", d.weight_scale));
  }
  if (d.zero_point != ZeroPointKind::floating) return {};
  if (bits_of(d.activation) != 16) {
    return refuse(zero_point + " needs 16-bit activations, not " + quoted("activation", d.activation));
  }
  if (bits_of(d.weight_scale_type) != 16) {
    return refuse(zero_point + " needs f16 or bf16 scales, not " + quoted("weight_scale_type", d.weight_scale_type));
  }
  return {};
}

Status check_activation_scale(const GemmDescriptor& d) {
  using enum DType;
  const bool group = d.activation_scale == ScaleKind::group;
  CUBIND_CHECK(zero_unless("activation_group_k", d.activation_group_k, group, "activation_scale is group"));
  if (bits_of(d.activation) == 16 && d.activation_scale != ScaleKind::none) {
    return refuse(quoted("activation_scale", d.activation_scale) + " with " + quoted("activation", d.activation) +
                  ": 16-bit activations have none");
  }
  if (d.activation_scale == ScaleKind::none) {
    if (d.activation_scale_type == none) return {};
    return refuse(quoted("activation_scale_type", d.activation_scale_type) +
                  " must be none if activation_scale is none");
  }
  CUBIND_CHECK(one_of("activation_scale", d.activation_scale,
                      {ScaleKind::none, ScaleKind::tensor, ScaleKind::channel, ScaleKind::group}));
  if (!group) {
    if (d.activation_scale_type == f32) return {};
    return refuse(quoted("activation_scale_type", d.activation_scale_type) +
                  " must be f32 unless activation_scale is group");
  }
  CUBIND_CHECK(one_of("activation_scale_type", d.activation_scale_type, {f32, e8m0, e4m3}));
  CUBIND_CHECK(check_group("activation_group_k", d.activation_group_k));
  if (d.weight_scale == ScaleKind::block && d.activation_group_k != d.group_k) {
    return refuse(quoted("activation_group_k", d.activation_group_k) + " differs from " + quoted("group_k", d.group_k) +
                  ": with block scales they are equal");
  }
  return {};
}

// Scales are applied between MMAs, so a group holds whole MMAs; block-scaled MMAs take them inside, where both sides
// have the same groups and at most four of them fit the k of one instruction.
Status check_groups_nest(const GemmDescriptor& d) {
  const std::uint32_t mma_k = 256 / bits_of(d.activation);
  const bool block_scaled = is_float(d.activation) && d.activation_scale == ScaleKind::group &&
                            bits_of(d.activation_scale_type) == 8 && d.weight_scale == ScaleKind::group &&
                            bits_of(d.weight_scale_type) == 8 && is_float(d.weight);
  if (block_scaled && d.activation_group_k != d.group_k) {
    return refuse(quoted("activation_group_k", d.activation_group_k) + " differs from " + quoted("group_k", d.group_k) +
                  ": block-scaled formats have the same groups on both sides");
  }
  const auto check = [&](std::string_view field, std::uint32_t group) -> Status {
    if (group == 0 || group >= mma_k || (block_scaled && mma_k / group <= 4)) return {};
    return refuse(quoted(field, group) + " is less than " + std::to_string(mma_k) + ", the k of one MMA with " +
                  quoted("activation", d.activation) + ": only block-scaled formats have such groups");
  };
  CUBIND_CHECK(check("group_k", d.group_k));
  return check("activation_group_k", d.activation_group_k);
}

Status check_accumulation(const GemmDescriptor& d) {
  using enum DType;
  const bool promoted = d.accumulation == Accumulation::f32_promoted;
  CUBIND_CHECK(zero_unless("promotion_k", d.promotion_k, promoted, "accumulation is f32_promoted"));
  if (promoted) {
    if (d.activation != e4m3 && d.activation != e5m2) {
      return refuse("accumulation \"f32_promoted\" is for e4m3 and e5m2 activations, not " +
                    quoted("activation", d.activation));
    }
    if (d.promotion_k < 32 || !std::has_single_bit(d.promotion_k) || d.promotion_k > limits::kMaxNK) {
      return refuse(quoted("promotion_k", d.promotion_k) + " is not a power of two of at least 32, the k of one MMA");
    }
  }
  if (d.accumulation == Accumulation::f16) {
    const bool small_weight = is_integer(d.weight) || float_format(d.weight).exponent <= 3;
    if (d.activation != f16 && !(d.activation == e4m3 && small_weight)) {
      return refuse("accumulation \"f16\" with " + quoted("activation", d.activation) + " and " +
                    quoted("weight", d.weight) +
                    ": needs f16 activations, or e4m3 with weights that are integer or have at most 3 exponent bits");
    }
    if (d.output != f16) return refuse("accumulation \"f16\" needs output f16, not " + quoted("output", d.output));
  }
  return {};
}

std::uint32_t round_up(std::uint32_t value, std::uint32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Status check_multiple(std::uint32_t k, std::uint32_t multiple, const std::string& of) {
  if (k % multiple == 0) return {};
  return refuse(quoted("k", k) + " is not a multiple of " + of + ": pad k to " + std::to_string(round_up(k, multiple)));
}

}  // namespace

Status validate(const GemmDescriptor& d) {
  CUBIND_CHECK(check_enums(d));
  CUBIND_CHECK(check_types(d));
  CUBIND_CHECK(check_weight_scale(d));
  CUBIND_CHECK(check_zero_point(d));
  CUBIND_CHECK(check_activation_scale(d));
  CUBIND_CHECK(check_groups_nest(d));
  return check_accumulation(d);
}

Status validate_shape(const GemmDescriptor& d, std::uint32_t n, std::uint32_t k) {
  CUBIND_CHECK(validate(d));
  const auto in_range = [](std::string_view field, std::uint32_t value) -> Status {
    if (value >= 1 && value <= limits::kMaxNK) return {};
    return refuse(quoted(field, value) + " is not in [1, " + std::to_string(limits::kMaxNK) + "]");
  };
  CUBIND_CHECK(in_range("n", n));
  CUBIND_CHECK(in_range("k", k));
  if (d.group_k != 0) CUBIND_CHECK(check_multiple(k, d.group_k, quoted("group_k", d.group_k)));
  if (d.activation_group_k != 0) {
    CUBIND_CHECK(check_multiple(k, d.activation_group_k, quoted("activation_group_k", d.activation_group_k)));
  }
  const std::uint32_t row = 128 / bits_of(d.activation);
  CUBIND_CHECK(check_multiple(k, row, std::to_string(row) + " (rows of x are read 16 bytes at a time)"));
  const bool gated = d.epilogue == Activation::silu_mul || d.epilogue == Activation::gelu_mul;
  if (gated && n % 2 != 0) {
    return refuse(quoted("n", n) + " is odd: " + quoted("epilogue", d.epilogue) + " pairs its columns");
  }
  return {};
}

GemmDescriptor canonical(const GemmDescriptor& descriptor) {
  GemmDescriptor d = descriptor;
  d.bias = false;
  d.determinism = Determinism::run_to_run;
  // With 16-bit activations scales go onto the weights before the MMA, so a larger group is only another shift.
  const bool one_scale_per_unit =
      d.weight_scale == ScaleKind::channel || (d.weight_scale == ScaleKind::group && d.group_k >= 64);
  if (bits_of(d.activation) == 16 && one_scale_per_unit) {
    d.weight_scale = ScaleKind::group;
    d.group_k = 64;
  }
  return d;
}

}  // namespace cubind
