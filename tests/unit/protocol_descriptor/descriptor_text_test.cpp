#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/unit/protocol_descriptor/formats.hpp"

namespace cubind {
namespace {

using formats::fp8_block;
using formats::mxfp4;
using formats::nvfp4;
using formats::w4a16;
using formats::w8a8;

TEST(DescriptorText, HasEveryFieldInOrder) {
  auto d = fp8_block();
  d.bias = true;
  EXPECT_EQ(to_string(d),
            "kind=dense activation=e4m3 weight=e4m3 output=bf16 weight_scale=block weight_scale_type=f32 group_k=128 "
            "group_n=128 weight_global_scale=false zero_point=none activation_scale=group activation_scale_type=f32 "
            "activation_group_k=128 bias=true epilogue=none accumulation=f32_promoted promotion_k=128 "
            "determinism=run_to_run");
  EXPECT_EQ(to_string(GemmDescriptor{}),
            "kind=dense activation=bf16 weight=int4 output=bf16 weight_scale=group weight_scale_type=bf16 group_k=128 "
            "group_n=0 weight_global_scale=false zero_point=none activation_scale=none activation_scale_type=none "
            "activation_group_k=0 bias=false epilogue=none accumulation=f32 promotion_k=0 determinism=run_to_run");
}

// A new field leaves this binding too short: it then belongs into to_string(), and into the wire and the key.
TEST(DescriptorText, CoversTheWholeStruct) {
  const GemmDescriptor d;
  const auto& [a, b, c, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = d;
  static_cast<void>(std::tie(a, b, c, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s));
  const auto text = to_string(d);
  EXPECT_EQ(std::count(text.begin(), text.end(), '='), 18);
}

TEST(DescriptorText, EveryEnumeratorHasItsName) {
  EXPECT_EQ(to_string(GemmKind::dense), "dense");
  EXPECT_EQ(to_string(GemmKind::grouped_contiguous), "grouped_contiguous");
  EXPECT_EQ(to_string(GemmKind::grouped_masked), "grouped_masked");
  EXPECT_EQ(to_string(GemmKind::indexed), "indexed");
  EXPECT_EQ(to_string(ScaleKind::none), "none");
  EXPECT_EQ(to_string(ScaleKind::tensor), "tensor");
  EXPECT_EQ(to_string(ScaleKind::channel), "channel");
  EXPECT_EQ(to_string(ScaleKind::group), "group");
  EXPECT_EQ(to_string(ScaleKind::block), "block");
  EXPECT_EQ(to_string(ZeroPointKind::none), "none");
  EXPECT_EQ(to_string(ZeroPointKind::integer), "integer");
  EXPECT_EQ(to_string(ZeroPointKind::floating), "floating");
  EXPECT_EQ(to_string(Activation::none), "none");
  EXPECT_EQ(to_string(Activation::relu), "relu");
  EXPECT_EQ(to_string(Activation::relu2), "relu2");
  EXPECT_EQ(to_string(Activation::silu), "silu");
  EXPECT_EQ(to_string(Activation::gelu), "gelu");
  EXPECT_EQ(to_string(Activation::silu_mul), "silu_mul");
  EXPECT_EQ(to_string(Activation::gelu_mul), "gelu_mul");
  EXPECT_EQ(to_string(Accumulation::f32), "f32");
  EXPECT_EQ(to_string(Accumulation::f16), "f16");
  EXPECT_EQ(to_string(Accumulation::f32_promoted), "f32_promoted");
  EXPECT_EQ(to_string(Determinism::run_to_run), "run_to_run");
  EXPECT_EQ(to_string(Determinism::sm_count), "sm_count");
  EXPECT_EQ(to_string(Determinism::batch_invariant), "batch_invariant");
  EXPECT_EQ(to_string(static_cast<Determinism>(77)), "unknown");
}

TEST(DescriptorText, DTypesGoThereAndBack) {
  int known = 0;
  for (unsigned value = 0; value < 256; ++value) {
    const auto type = static_cast<DType>(value);
    const auto name = to_string(type);
    if (name == "unknown") continue;
    ++known;
    const auto parsed = dtype_from_string(name);
    ASSERT_TRUE(parsed.ok()) << name;
    EXPECT_EQ(*parsed, type);
    EXPECT_EQ(bits_of(type) == 0, type == DType::none) << name;
  }
  EXPECT_EQ(known, 26);
  EXPECT_EQ(dtype_from_string("fp8").error().message,
            "type \"fp8\" is not one of none, f32, f16, bf16, e5m2, e4m3, e3m2, e2m3, e2m1, e1m2, e2m2, e3m1, e1m1, "
            "e2m0, e8m0, e3m3, e4m2, int1, int2, int3, int4, int5, int6, int7, int8, int32");
}

TEST(ShortName, SaysWhatIsUnusual) {
  EXPECT_EQ(short_name(w4a16()), "w4a16-bf16-g128");
  auto d = w4a16(DType::f16);
  d.zero_point = ZeroPointKind::integer;
  d.weight_scale = ScaleKind::channel;
  d.group_k = 0;
  EXPECT_EQ(short_name(d), "w4a16-f16-ch-zp");
  EXPECT_EQ(short_name(w8a8(DType::int8)), "w8a8-int8-ch-sf32-xchf32-outbf16");
  EXPECT_EQ(short_name(fp8_block()), "we4m3a8-e4m3-b128x128-sf32-xg128f32-promote128-outbf16");
  EXPECT_EQ(short_name(nvfp4()), "we2m1a4-e2m1-g16-se4m3-global-xg16e4m3-outbf16");
  EXPECT_EQ(short_name(mxfp4(DType::bf16)), "we2m1a16-bf16-g32-se8m0");
  d = w4a16();
  d.kind = GemmKind::indexed;
  d.epilogue = Activation::silu_mul;
  d.determinism = Determinism::batch_invariant;
  EXPECT_EQ(short_name(d), "w4a16-bf16-g128-silu_mul-batch_invariant-indexed");
}

TEST(ShortName, OfEveryServedFormatGoesThereAndBack) {
  for (const auto activation : {DType::f16, DType::bf16}) {
    for (const std::uint32_t group_k : {0u, 32u, 64u, 128u, 256u, 4096u}) {
      for (const auto zero_point : {ZeroPointKind::none, ZeroPointKind::integer}) {
        for (const bool bias : {false, true}) {
          for (const auto determinism : {Determinism::run_to_run, Determinism::sm_count}) {
            auto d = w4a16(activation);
            d.group_k = group_k;
            if (group_k == 0) d.weight_scale = ScaleKind::channel;
            d.zero_point = zero_point;
            d.bias = bias;
            d.determinism = determinism;
            const auto parsed = descriptor_from_name(short_name(d));
            ASSERT_TRUE(parsed.ok()) << short_name(d) << ": " << parsed.error().message;
            EXPECT_EQ(*parsed, d) << short_name(d);
          }
        }
      }
    }
  }
}

TEST(DescriptorFromName, NamesThePartThatIsWrongAndWhatIsAccepted) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "descriptor name \"\": format \"\" is not one of w4a16"},
      {"w8a8-int8-ch", "descriptor name \"w8a8-int8-ch\": format \"w8a8\" is not one of w4a16"},
      {"w4a16", "descriptor name \"w4a16\": activation \"\" is not one of bf16, f16"},
      {"w4a16-fp16-g128", "descriptor name \"w4a16-fp16-g128\": activation \"fp16\" is not one of bf16, f16"},
      {"w4a16-f16",
       "descriptor name \"w4a16-f16\": scales \"\" is not one of ch, g32, g64, g128, ... (any power of two)"},
      {"w4a16-f16-128",
       "descriptor name \"w4a16-f16-128\": scales \"128\" is not one of ch, g32, g64, g128, ... (any power of two)"},
      {"w4a16-f16-g",
       "descriptor name \"w4a16-f16-g\": scales \"g\" is not one of ch, g32, g64, g128, ... (any power of two)"},
      {"w4a16-f16-g0128",
       "descriptor name \"w4a16-f16-g0128\": scales \"g0128\" is not one of ch, g32, g64, g128, ... (any power of "
       "two)"},
      {"w4a16-f16-g128x",
       "descriptor name \"w4a16-f16-g128x\": scales \"g128x\" is not one of ch, g32, g64, g128, ... (any power of "
       "two)"},
      {"w4a16-f16-g99999999999",
       "descriptor name \"w4a16-f16-g99999999999\": scales \"g99999999999\" is not one of ch, g32, g64, g128, ... (any "
       "power of two)"},
      {"w4a16-f16-g100", "group_k \"100\" is not a power of two of at least 16"},
      {"w4a16-f16-ch-",
       "descriptor name \"w4a16-f16-ch-\": option \"\" is not one of zp, bias, sm_count (once each, in "
       "this order)"},
      {"w4a16-f16-ch-bias-zp",
       "descriptor name \"w4a16-f16-ch-bias-zp\": option \"zp\" is not one of zp, bias, sm_count (once each, in this "
       "order)"},
      {"w4a16-f16-ch-zp-zp",
       "descriptor name \"w4a16-f16-ch-zp-zp\": option \"zp\" is not one of zp, bias, sm_count (once each, in this "
       "order)"},
  };
  for (const auto& [name, message] : cases) {
    const auto parsed = descriptor_from_name(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(parsed.error().message, message);
  }
}

}  // namespace
}  // namespace cubind
