#include <functional>

#include <gtest/gtest.h>

#include "tests/unit/protocol_descriptor/formats.hpp"

namespace cubind {
namespace {

using formats::fp8_block;
using formats::mxfp4;
using formats::nvfp4;
using formats::w4a16;
using formats::w8a8;
using enum DType;

constexpr DType kAllTypes[] = {none, f32,  f16,  bf16, e5m2, e4m3, e3m2, e2m3, e2m1, e1m2, e2m2, e3m1, e1m1,
                               e2m0, e8m0, e3m3, e4m2, int1, int2, int3, int4, int5, int6, int7, int8, int32};

std::string verdict(const GemmDescriptor& d) {
  const auto status = validate(d);
  if (status.ok()) return "ok";
  EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
  return status.error().message;
}

GemmDescriptor changed(GemmDescriptor d, const std::function<void(GemmDescriptor&)>& change) {
  change(d);
  return d;
}

TEST(DescriptorRules, WellKnownFormatsAreLegal) {
  EXPECT_EQ(verdict(w4a16(bf16)), "ok");
  EXPECT_EQ(verdict(w4a16(f16)), "ok");
  EXPECT_EQ(verdict(w8a8(int8)), "ok");
  EXPECT_EQ(verdict(w8a8(e4m3)), "ok");
  EXPECT_EQ(verdict(w8a8(e5m2)), "ok");
  EXPECT_EQ(verdict(fp8_block()), "ok");
  EXPECT_EQ(verdict(nvfp4()), "ok");
  for (const auto activation : {f16, bf16, e4m3, e2m1, int8}) EXPECT_EQ(verdict(mxfp4(activation)), "ok");
}

// Of the weights of a channel-scaled descriptor, those that each activation takes: symmetric, and with zero points.
TEST(DescriptorRules, WeightsThatEachActivationTakes) {
  struct Row {
    DType activation;
    std::string_view symmetric, with_zero_points;
  };
  const std::string_view every_int = "int1 int2 int3 int4 int5 int6 int7 int8";
  const Row rows[] = {
      {bf16, "e5m2 e4m3 e3m2 e2m3 e2m1 e1m2 e2m2 e3m1 e1m1 e2m0 e3m3 e4m2 int1 int2 int3 int4 int5 int6 int7 int8",
       every_int},
      {f16, "e5m2 e4m3 e3m2 e2m3 e2m1 e1m2 e2m2 e3m1 e1m1 e2m0 e3m3 e4m2 int1 int2 int3 int4 int5 int6 int7 int8",
       every_int},
      {e4m3, "e4m3 e3m2 e2m3 e2m1 e1m2 e2m2 e3m1 e1m1 e2m0 e3m3 e4m2 int1 int2 int3 int4 int5", "int1 int2 int3 int4"},
      {e5m2, "e5m2 e3m2 e2m1 e1m2 e2m2 e3m1 e1m1 e2m0 e4m2 int1 int2 int3 int4", "int1 int2 int3"},
      {e2m1, "e2m1 e1m1 e2m0 int1 int2 int3", "int1 int2"},
      {int8, every_int, "int1 int2 int3 int4 int5 int6 int7"},
      {int4, "int1 int2 int3 int4", "int1 int2 int3"},
  };
  for (const auto& row : rows) {
    for (const bool zero_points : {false, true}) {
      std::string legal;
      for (const auto weight : kAllTypes) {
        GemmDescriptor d;
        d.activation = row.activation;
        d.weight = weight;
        d.weight_scale = ScaleKind::channel;
        d.group_k = 0;
        if (zero_points) d.zero_point = ZeroPointKind::integer;
        if (validate(d).ok()) legal.append(legal.empty() ? "" : " ").append(to_string(weight));
      }
      EXPECT_EQ(legal, zero_points ? row.with_zero_points : row.symmetric) << to_string(row.activation);
    }
  }
}

TEST(DescriptorRules, TypesOfEachRole) {
  std::string activations, outputs, scales;
  for (const auto type : kAllTypes) {
    auto d = w4a16();
    d.weight = int1;
    d.weight_scale = ScaleKind::channel;
    d.group_k = 0;
    d.activation = type;
    if (validate(d).ok()) activations.append(" ").append(to_string(type));
    if (validate(changed(w4a16(), [&](auto& x) { x.output = type; })).ok()) outputs.append(" ").append(to_string(type));
    if (validate(changed(w4a16(), [&](auto& x) {
          x.weight_scale_type = type;
          x.group_k = 32;
        })).ok()) {
      scales.append(" ").append(to_string(type));
    }
  }
  EXPECT_EQ(activations, " f16 bf16 e5m2 e4m3 e2m1 int4 int8");
  EXPECT_EQ(outputs, " f32 f16 bf16");
  EXPECT_EQ(scales, " f32 f16 bf16 e5m2 e4m3 e8m0");
}

TEST(DescriptorRules, EveryListedEnumeratorIsLegalSomewhere) {
  for (const auto kind : {GemmKind::dense, GemmKind::grouped_contiguous, GemmKind::grouped_masked, GemmKind::indexed}) {
    EXPECT_EQ(verdict(changed(w4a16(), [&](auto& d) { d.kind = kind; })), "ok");
  }
  for (const auto epilogue : {Activation::none, Activation::relu, Activation::relu2, Activation::silu, Activation::gelu,
                              Activation::silu_mul, Activation::gelu_mul}) {
    EXPECT_EQ(verdict(changed(w4a16(), [&](auto& d) { d.epilogue = epilogue; })), "ok");
  }
  for (const auto determinism : {Determinism::run_to_run, Determinism::sm_count, Determinism::batch_invariant}) {
    EXPECT_EQ(verdict(changed(w4a16(), [&](auto& d) { d.determinism = determinism; })), "ok");
  }
  for (const auto zero_point : {ZeroPointKind::none, ZeroPointKind::integer, ZeroPointKind::floating}) {
    EXPECT_EQ(verdict(changed(w4a16(), [&](auto& d) { d.zero_point = zero_point; })), "ok");
  }
  EXPECT_EQ(verdict(changed(w4a16(f16), [](auto& d) { d.accumulation = Accumulation::f16; })), "ok");
  for (const auto scale : {ScaleKind::none, ScaleKind::tensor, ScaleKind::channel, ScaleKind::group}) {
    auto d = w8a8(e4m3);
    d.activation_scale = scale;
    if (scale == ScaleKind::none) d.activation_scale_type = none;
    if (scale == ScaleKind::group) d.activation_group_k = 128;
    EXPECT_EQ(verdict(d), "ok");
    d = w4a16();
    d.weight_scale = scale;
    if (scale == ScaleKind::none) d.weight_scale_type = none;
    if (scale != ScaleKind::group) d.group_k = 0;
    EXPECT_EQ(verdict(d), "ok");
  }
}

TEST(DescriptorRules, GroupsArePowersOfTwoFromTheKOfOneMma) {
  const auto group = [](GemmDescriptor d, std::uint32_t k) {
    d.weight_scale = ScaleKind::group;
    d.weight_scale_type = f16;
    d.group_k = k;
    return validate(d).ok();
  };
  for (std::uint32_t k = 0; k <= 300; ++k) {
    const bool power = k != 0 && (k & (k - 1)) == 0;
    EXPECT_EQ(group(w4a16(), k), power && k >= 16) << k;
    EXPECT_EQ(group(w8a8(int8), k), power && k >= 32) << k;
    EXPECT_EQ(group(changed(w8a8(int4), [](auto&) {}), k), power && k >= 64) << k;
  }
}

TEST(DescriptorRules, BlockScaledFormatsMayHaveSmallerGroups) {
  EXPECT_EQ(verdict(nvfp4()), "ok");
  EXPECT_EQ(verdict(mxfp4(e2m1)), "ok");
  EXPECT_EQ(verdict(changed(mxfp4(e2m1), [](auto& d) { d.activation_scale_type = f32; })),
            "group_k \"32\" is less than 64, the k of one MMA with activation \"e2m1\": only block-scaled formats have "
            "such groups");
  EXPECT_EQ(verdict(changed(mxfp4(e4m3), [](auto& d) { d.activation_group_k = 64; })),
            "activation_group_k \"64\" differs from group_k \"32\": block-scaled formats have the same groups on both "
            "sides");
}

struct Refusal {
  const char* name;
  GemmDescriptor descriptor;
  std::string_view message;
};

TEST(DescriptorRules, EveryRefusalNamesFieldValueAndRule) {
  const Refusal refusals[] = {
      {"kind", changed(w4a16(), [](auto& d) { d.kind = static_cast<GemmKind>(9); }),
       "kind \"9\" is not a listed value of its enum"},
      {"weight number", changed(w4a16(), [](auto& d) { d.weight = static_cast<DType>(200); }),
       "weight \"200\" is not a listed value of its enum"},
      {"activation number", changed(w4a16(), [](auto& d) { d.activation = static_cast<DType>(32); }),
       "activation \"32\" is not a listed value of its enum"},
      {"output number", changed(w4a16(), [](auto& d) { d.output = static_cast<DType>(41); }),
       "output \"41\" is not a listed value of its enum"},
      {"weight_scale number", changed(w4a16(), [](auto& d) { d.weight_scale = static_cast<ScaleKind>(5); }),
       "weight_scale \"5\" is not a listed value of its enum"},
      {"weight_scale_type number", changed(w4a16(), [](auto& d) { d.weight_scale_type = static_cast<DType>(17); }),
       "weight_scale_type \"17\" is not a listed value of its enum"},
      {"zero_point number", changed(w4a16(), [](auto& d) { d.zero_point = static_cast<ZeroPointKind>(3); }),
       "zero_point \"3\" is not a listed value of its enum"},
      {"activation_scale number", changed(w4a16(), [](auto& d) { d.activation_scale = static_cast<ScaleKind>(99); }),
       "activation_scale \"99\" is not a listed value of its enum"},
      {"activation_scale_type number",
       changed(w4a16(), [](auto& d) { d.activation_scale_type = static_cast<DType>(63); }),
       "activation_scale_type \"63\" is not a listed value of its enum"},
      {"epilogue number", changed(w4a16(), [](auto& d) { d.epilogue = static_cast<Activation>(7); }),
       "epilogue \"7\" is not a listed value of its enum"},
      {"accumulation number", changed(w4a16(), [](auto& d) { d.accumulation = static_cast<Accumulation>(3); }),
       "accumulation \"3\" is not a listed value of its enum"},
      {"determinism number", changed(w4a16(), [](auto& d) { d.determinism = static_cast<Determinism>(3); }),
       "determinism \"3\" is not a listed value of its enum"},

      {"activation", changed(w4a16(), [](auto& d) { d.activation = f32; }),
       "activation \"f32\" is not one of f16, bf16, e4m3, e5m2, e2m1, int8, int4"},
      {"weight", changed(w4a16(), [](auto& d) { d.weight = bf16; }),
       "weight \"bf16\" is not one of int1, int2, int3, int4, int5, int6, int7, int8, e5m2, e4m3, e3m3, e4m2, e3m2, "
       "e2m3, e2m2, e3m1, e2m1, e1m2, e1m1, e2m0"},
      {"output", changed(w4a16(), [](auto& d) { d.output = int32; }), "output \"int32\" is not one of f16, bf16, f32"},
      {"more bits", changed(w8a8(int4), [](auto& d) { d.weight = int8; }),
       "weight \"int8\" with activation \"int4\": a weight has at most the activation's bits"},
      {"int to fp8", changed(w8a8(e4m3), [](auto& d) { d.weight = int6; }),
       "weight \"int6\" with activation \"e4m3\": at most 5 bits are exact there without zero points"},
      {"int to fp8 with zero points",
       changed(w8a8(e4m3),
               [](auto& d) {
                 d.weight = int5;
                 d.zero_point = ZeroPointKind::integer;
               }),
       "weight \"int5\" with activation \"e4m3\": at most 4 bits are exact there with zero points"},
      {"float to int", changed(w8a8(int8), [](auto& d) { d.weight = e4m3; }),
       "weight \"e4m3\" with activation \"int8\": integer activations take integer weights (or e2m1 with e8m0 group "
       "scales and int8)"},
      {"wider exponent", changed(w8a8(e4m3), [](auto& d) { d.weight = e5m2; }),
       "weight \"e5m2\" with activation \"e4m3\": neither the weight's exponent nor its mantissa may be wider than the "
       "activation's"},

      {"group_k of channel", changed(w4a16(), [](auto& d) { d.weight_scale = ScaleKind::channel; }),
       "group_k \"128\" must be 0 unless weight_scale is group or block"},
      {"group_n of group", changed(w4a16(), [](auto& d) { d.group_n = 128; }),
       "group_n \"128\" must be 0 unless weight_scale is block"},
      {"group_k 48", changed(w4a16(), [](auto& d) { d.group_k = 48; }),
       "group_k \"48\" is not a power of two of at least 16"},
      {"group_k 8", changed(w4a16(), [](auto& d) { d.group_k = 8; }),
       "group_k \"8\" is not a power of two of at least 16"},
      {"group_k 0", changed(w4a16(), [](auto& d) { d.group_k = 0; }),
       "group_k \"0\" is not a power of two of at least 16"},
      {"group_k huge", changed(w4a16(), [](auto& d) { d.group_k = 1u << 21; }),
       "group_k \"2097152\" is more than 1048576"},
      {"group_n 48", changed(fp8_block(), [](auto& d) { d.group_n = 48; }),
       "group_n \"48\" is not a power of two of at least 64"},
      {"scale type of none",
       changed(w4a16(),
               [](auto& d) {
                 d.weight_scale = ScaleKind::none;
                 d.group_k = 0;
               }),
       "weight_scale_type \"bf16\" must be none if weight_scale is none"},
      {"scale type", changed(w4a16(), [](auto& d) { d.weight_scale_type = none; }),
       "weight_scale_type \"none\" is not one of f32, f16, bf16, e4m3, e5m2, e8m0"},
      {"8-bit channel scales", changed(w8a8(int8), [](auto& d) { d.weight_scale_type = e4m3; }),
       "weight_scale_type \"e4m3\" has 8 bits and needs weight_scale group or block, not weight_scale \"channel\""},
      {"global of none",
       changed(w4a16(),
               [](auto& d) {
                 d.weight_scale = ScaleKind::none;
                 d.weight_scale_type = none;
                 d.group_k = 0;
                 d.weight_global_scale = true;
               }),
       "weight_global_scale \"true\" needs a weight_scale"},
      {"global of tensor",
       changed(w8a8(e4m3),
               [](auto& d) {
                 d.weight_scale = ScaleKind::tensor;
                 d.weight_global_scale = true;
               }),
       "weight_global_scale \"true\" beside weight_scale \"tensor\": one of them is the factor of the matrix"},
      {"mx group", changed(mxfp4(bf16), [](auto& d) { d.group_k = 64; }),
       "group_k \"64\" with weight_scale_type \"e8m0\": MX formats have groups of 32"},
      {"nvfp4 group", changed(nvfp4(), [](auto& d) { d.group_k = d.activation_group_k = 32; }),
       "group_k \"32\" with weight \"e2m1\" and weight_scale_type \"e4m3\": NVFP4 has groups of 16"},

      {"zero point of floats", changed(mxfp4(bf16), [](auto& d) { d.zero_point = ZeroPointKind::integer; }),
       "zero_point \"integer\" needs integer weights, not weight \"e2m1\""},
      {"zero point of tensor scales",
       changed(w4a16(),
               [](auto& d) {
                 d.weight_scale = ScaleKind::tensor;
                 d.group_k = 0;
                 d.zero_point = ZeroPointKind::integer;
               }),
       "zero_point \"integer\" needs weight_scale group or channel, not weight_scale \"tensor\""},
      {"floating zero point of 8-bit activations",
       changed(w8a8(int8),
               [](auto& d) {
                 d.weight = int4;
                 d.zero_point = ZeroPointKind::floating;
               }),
       "zero_point \"floating\" needs 16-bit activations, not activation \"int8\""},
      {"floating zero point of f32 scales",
       changed(w4a16(),
               [](auto& d) {
                 d.weight_scale_type = f32;
                 d.zero_point = ZeroPointKind::floating;
               }),
       "zero_point \"floating\" needs f16 or bf16 scales, not weight_scale_type \"f32\""},

      {"activation scale of bf16", changed(w4a16(), [](auto& d) { d.activation_scale = ScaleKind::channel; }),
       "activation_scale \"channel\" with activation \"bf16\": 16-bit activations have none"},
      {"activation scale type of none", changed(w4a16(), [](auto& d) { d.activation_scale_type = f32; }),
       "activation_scale_type \"f32\" must be none if activation_scale is none"},
      {"activation group without groups", changed(w4a16(), [](auto& d) { d.activation_group_k = 64; }),
       "activation_group_k \"64\" must be 0 unless activation_scale is group"},
      {"block activations", changed(w8a8(e4m3), [](auto& d) { d.activation_scale = ScaleKind::block; }),
       "activation_scale \"block\" is not one of none, tensor, channel, group"},
      {"type of channel scales", changed(w8a8(e4m3), [](auto& d) { d.activation_scale_type = e8m0; }),
       "activation_scale_type \"e8m0\" must be f32 unless activation_scale is group"},
      {"type of group scales", changed(fp8_block(), [](auto& d) { d.activation_scale_type = bf16; }),
       "activation_scale_type \"bf16\" is not one of f32, e8m0, e4m3"},
      {"activation group", changed(fp8_block(), [](auto& d) { d.activation_group_k = 100; }),
       "activation_group_k \"100\" is not a power of two of at least 16"},
      {"block and activation groups", changed(fp8_block(), [](auto& d) { d.activation_group_k = 64; }),
       "activation_group_k \"64\" differs from group_k \"128\": with block scales they are equal"},
      {"activation group below the MMA's k",
       changed(w8a8(e4m3),
               [](auto& d) {
                 d.activation_scale = ScaleKind::group;
                 d.activation_group_k = 16;
               }),
       "activation_group_k \"16\" is less than 32, the k of one MMA with activation \"e4m3\": only block-scaled "
       "formats "
       "have such groups"},

      {"promotion without promoting", changed(w4a16(), [](auto& d) { d.promotion_k = 128; }),
       "promotion_k \"128\" must be 0 unless accumulation is f32_promoted"},
      {"promotion of bf16",
       changed(w4a16(),
               [](auto& d) {
                 d.accumulation = Accumulation::f32_promoted;
                 d.promotion_k = 128;
               }),
       "accumulation \"f32_promoted\" is for e4m3 and e5m2 activations, not activation \"bf16\""},
      {"promotion_k 0", changed(fp8_block(), [](auto& d) { d.promotion_k = 0; }),
       "promotion_k \"0\" is not a power of two of at least 32, the k of one MMA"},
      {"promotion_k 96", changed(fp8_block(), [](auto& d) { d.promotion_k = 96; }),
       "promotion_k \"96\" is not a power of two of at least 32, the k of one MMA"},
      {"f16 sums of bf16", changed(w4a16(), [](auto& d) { d.accumulation = Accumulation::f16; }),
       "accumulation \"f16\" with activation \"bf16\" and weight \"int4\": needs f16 activations, or e4m3 with weights "
       "that are integer or have at most 3 exponent bits"},
      {"f16 sums with f32 output",
       changed(w4a16(f16),
               [](auto& d) {
                 d.accumulation = Accumulation::f16;
                 d.output = f32;
               }),
       "accumulation \"f16\" needs output f16, not output \"f32\""},
  };
  for (const auto& [name, descriptor, message] : refusals) EXPECT_EQ(verdict(descriptor), message) << name;
}

TEST(DescriptorRules, MessagesAreOneLowerCaseLine) {
  auto d = w4a16();
  d.group_k = 48;
  const auto message = validate(d).error().message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_TRUE(std::islower(message.front()));
}

}  // namespace
}  // namespace cubind
