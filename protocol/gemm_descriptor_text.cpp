// Names of the descriptor's enums and of whole descriptors. Each enum has one table, read in both directions.
#include <charconv>
#include <vector>

#include "protocol/gemm_descriptor.hpp"

namespace cubind {
namespace {

template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};

constexpr Named<DType> kDTypes[] = {
    {DType::none, "none"},   {DType::f32, "f32"},   {DType::f16, "f16"},   {DType::bf16, "bf16"}, {DType::e5m2, "e5m2"},
    {DType::e4m3, "e4m3"},   {DType::e3m2, "e3m2"}, {DType::e2m3, "e2m3"}, {DType::e2m1, "e2m1"}, {DType::e1m2, "e1m2"},
    {DType::e2m2, "e2m2"},   {DType::e3m1, "e3m1"}, {DType::e1m1, "e1m1"}, {DType::e2m0, "e2m0"}, {DType::e8m0, "e8m0"},
    {DType::e3m3, "e3m3"},   {DType::e4m2, "e4m2"}, {DType::int1, "int1"}, {DType::int2, "int2"}, {DType::int3, "int3"},
    {DType::int4, "int4"},   {DType::int5, "int5"}, {DType::int6, "int6"}, {DType::int7, "int7"}, {DType::int8, "int8"},
    {DType::int32, "int32"},
};
constexpr Named<GemmKind> kGemmKinds[] = {
    {GemmKind::dense, "dense"},
    {GemmKind::grouped_contiguous, "grouped_contiguous"},
    {GemmKind::grouped_masked, "grouped_masked"},
    {GemmKind::indexed, "indexed"},
};
constexpr Named<ScaleKind> kScaleKinds[] = {
    {ScaleKind::none, "none"},   {ScaleKind::tensor, "tensor"}, {ScaleKind::channel, "channel"},
    {ScaleKind::group, "group"}, {ScaleKind::block, "block"},
};
constexpr Named<ZeroPointKind> kZeroPointKinds[] = {
    {ZeroPointKind::none, "none"},
    {ZeroPointKind::integer, "integer"},
    {ZeroPointKind::floating, "floating"},
};
constexpr Named<Activation> kActivations[] = {
    {Activation::none, "none"},         {Activation::relu, "relu"}, {Activation::relu2, "relu2"},
    {Activation::silu, "silu"},         {Activation::gelu, "gelu"}, {Activation::silu_mul, "silu_mul"},
    {Activation::gelu_mul, "gelu_mul"},
};
constexpr Named<Accumulation> kAccumulations[] = {
    {Accumulation::f32, "f32"},
    {Accumulation::f16, "f16"},
    {Accumulation::f32_promoted, "f32_promoted"},
};
constexpr Named<Determinism> kDeterminisms[] = {
    {Determinism::run_to_run, "run_to_run"},
    {Determinism::sm_count, "sm_count"},
    {Determinism::batch_invariant, "batch_invariant"},
};

template <class Enum, std::size_t N>
std::string_view name_of(const Named<Enum> (&table)[N], Enum value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

std::string number(std::uint32_t value) {
  return std::to_string(value);
}
std::string flag(bool value) {
  return value ? "true" : "false";
}

// "4" for int4, "e2m1" for e2m1: bits say everything about an integer type only.
std::string width_name(DType type) {
  return is_integer(type) ? number(bits_of(type)) : std::string(to_string(type));
}

std::string scale_name(ScaleKind kind, std::uint32_t group_k, std::uint32_t group_n) {
  switch (kind) {
    case ScaleKind::none: return "noscale";
    case ScaleKind::tensor: return "tensor";
    case ScaleKind::channel: return "ch";
    case ScaleKind::group: return "g" + number(group_k);
    case ScaleKind::block: return "b" + number(group_n) + "x" + number(group_k);
  }
  return "unknown";
}

Error bad_name(std::string_view name, std::string_view part, std::string_view value, std::string_view accepted) {
  return {ErrorCode::invalid_argument, "descriptor name \"" + std::string(name) + "\": " + std::string(part) + " \"" +
                                           std::string(value) + "\" is not one of " + std::string(accepted)};
}

std::vector<std::string_view> split_at_dashes(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto dash = text.find('-');
    parts.push_back(text.substr(0, dash));
    if (dash == std::string_view::npos) return parts;
    text.remove_prefix(dash + 1);
  }
}

}  // namespace

std::string_view to_string(DType type) {
  return name_of(kDTypes, type);
}
std::string_view to_string(GemmKind kind) {
  return name_of(kGemmKinds, kind);
}
std::string_view to_string(ScaleKind kind) {
  return name_of(kScaleKinds, kind);
}
std::string_view to_string(ZeroPointKind kind) {
  return name_of(kZeroPointKinds, kind);
}
std::string_view to_string(Activation activation) {
  return name_of(kActivations, activation);
}
std::string_view to_string(Accumulation accumulation) {
  return name_of(kAccumulations, accumulation);
}
std::string_view to_string(Determinism determinism) {
  return name_of(kDeterminisms, determinism);
}

Result<DType> dtype_from_string(std::string_view name) {
  std::string accepted;
  for (const auto& entry : kDTypes) {
    if (entry.name == name) return entry.value;
    accepted += accepted.empty() ? "" : ", ";
    accepted += entry.name;
  }
  return Error{ErrorCode::invalid_argument, "type \"" + std::string(name) + "\" is not one of " + accepted};
}

std::string to_string(const GemmDescriptor& d) {
  std::string text;
  const auto field = [&text](std::string_view name, std::string_view value) {
    if (!text.empty()) text += ' ';
    text.append(name).append("=").append(value);
  };
  field("kind", to_string(d.kind));
  field("activation", to_string(d.activation));
  field("weight", to_string(d.weight));
  field("output", to_string(d.output));
  field("weight_scale", to_string(d.weight_scale));
  field("weight_scale_type", to_string(d.weight_scale_type));
  field("group_k", number(d.group_k));
  field("group_n", number(d.group_n));
  field("weight_global_scale", flag(d.weight_global_scale));
  field("zero_point", to_string(d.zero_point));
  field("activation_scale", to_string(d.activation_scale));
  field("activation_scale_type", to_string(d.activation_scale_type));
  field("activation_group_k", number(d.activation_group_k));
  field("bias", flag(d.bias));
  field("epilogue", to_string(d.epilogue));
  field("accumulation", to_string(d.accumulation));
  field("promotion_k", number(d.promotion_k));
  field("determinism", to_string(d.determinism));
  return text;
}

std::string short_name(const GemmDescriptor& d) {
  std::string name = "w" + width_name(d.weight) + "a" + number(bits_of(d.activation));
  const auto part = [&name](std::string_view text) { name.append("-").append(text); };
  part(to_string(d.activation));
  part(scale_name(d.weight_scale, d.group_k, d.group_n));
  if (d.weight_scale != ScaleKind::none && d.weight_scale_type != d.activation) {
    part("s" + std::string(to_string(d.weight_scale_type)));
  }
  if (d.weight_global_scale) part("global");
  if (d.zero_point == ZeroPointKind::integer) part("zp");
  if (d.zero_point == ZeroPointKind::floating) part("fzp");
  if (d.activation_scale != ScaleKind::none) {
    part("x" + scale_name(d.activation_scale, d.activation_group_k, 0) +
         std::string(to_string(d.activation_scale_type)));
  }
  if (d.bias) part("bias");
  if (d.epilogue != Activation::none) part(to_string(d.epilogue));
  if (d.accumulation == Accumulation::f16) part("accf16");
  if (d.accumulation == Accumulation::f32_promoted) part("promote" + number(d.promotion_k));
  if (d.determinism != Determinism::run_to_run) part(to_string(d.determinism));
  if (d.output != d.activation) part("out" + std::string(to_string(d.output)));
  if (d.kind != GemmKind::dense) part(to_string(d.kind));
  return name;
}

Result<GemmDescriptor> descriptor_from_name(std::string_view name) {
  const auto parts = split_at_dashes(name);
  const auto at = [&parts](std::size_t i) { return i < parts.size() ? parts[i] : std::string_view(); };
  GemmDescriptor d;
  if (at(0) != "w4a16") return bad_name(name, "format", at(0), "w4a16");

  if (at(1) != "bf16" && at(1) != "f16") return bad_name(name, "activation", at(1), "bf16, f16");
  d.activation = d.output = d.weight_scale_type = at(1) == "bf16" ? DType::bf16 : DType::f16;

  const auto scales = at(2);
  if (scales == "ch") {
    d.weight_scale = ScaleKind::channel;
    d.group_k = 0;
  } else {
    const auto* end = scales.data() + scales.size();
    const bool group = scales.starts_with('g') && scales.size() > 1 && scales[1] != '0';
    const auto read = group ? std::from_chars(scales.data() + 1, end, d.group_k) : std::from_chars_result{nullptr, {}};
    if (!group || read.ptr != end || read.ec != std::errc()) {
      return bad_name(name, "scales", scales, "ch, g32, g64, g128, ... (any power of two)");
    }
  }

  // Each option at most once and in this order, so that a descriptor has one name.
  std::size_t next = 3;
  const auto option = [&](std::string_view text) { return at(next) == text && ++next != 0; };
  if (option("zp")) d.zero_point = ZeroPointKind::integer;
  if (option("bias")) d.bias = true;
  if (option("sm_count")) d.determinism = Determinism::sm_count;
  if (next < parts.size())
    return bad_name(name, "option", parts[next], "zp, bias, sm_count (once each, in this order)");
  CUBIND_CHECK(validate(d));
  return d;
}

}  // namespace cubind
