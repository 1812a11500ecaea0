#include <gtest/gtest.h>

#include "protocol/limits.hpp"
#include "tests/unit/protocol_descriptor/formats.hpp"

namespace cubind {
namespace {

using formats::fp8_block;
using formats::mxfp4;
using formats::nvfp4;
using formats::w4a16;
using formats::w8a8;

std::string verdict(const GemmDescriptor& d, std::uint32_t n, std::uint32_t k) {
  const auto status = validate_shape(d, n, k);
  if (status.ok()) return "ok";
  EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
  return status.error().message;
}

GemmDescriptor group(std::uint32_t group_k) {
  auto d = w4a16();
  d.group_k = group_k;
  return d;
}

GemmDescriptor channel() {
  auto d = group(0);
  d.weight_scale = ScaleKind::channel;
  return d;
}

TEST(DescriptorShape, AnyNIsLegal) {
  for (const std::uint32_t n : {1u, 2u, 7u, 16u, 640u, 1001u, 1056u, 28672u, 1u << 20}) {
    EXPECT_EQ(verdict(w4a16(), n, 4096), "ok") << n;
  }
}

TEST(DescriptorShape, KOfGroupsThatDoNotFitIsRefusedNamingThePadding) {
  EXPECT_EQ(verdict(group(128), 2880, 2880), "k \"2880\" is not a multiple of group_k \"128\": pad k to 2944");
  EXPECT_EQ(verdict(group(128), 1056, 4160), "k \"4160\" is not a multiple of group_k \"128\": pad k to 4224");
  for (const auto k : {2880u, 4160u}) {
    EXPECT_EQ(verdict(group(32), 2880, k), "ok");
    EXPECT_EQ(verdict(group(64), 2880, k), "ok");
    EXPECT_EQ(verdict(channel(), 2880, k), "ok");
  }
  EXPECT_EQ(verdict(group(32), 1001, 1440), "ok");
}

TEST(DescriptorShape, RowsAreSixteenBytes) {
  EXPECT_EQ(verdict(channel(), 64, 8), "ok");
  EXPECT_EQ(verdict(channel(), 64, 4100),
            "k \"4100\" is not a multiple of 8 (rows of x are read 16 bytes at a time): pad k to 4104");
  EXPECT_EQ(verdict(w8a8(DType::int8), 64, 4104),
            "k \"4104\" is not a multiple of 16 (rows of x are read 16 bytes at a time): pad k to 4112");
}

TEST(DescriptorShape, ActivationGroupsCount) {
  EXPECT_EQ(verdict(fp8_block(), 576, 7168), "ok");
  auto d = w8a8(DType::e4m3);
  d.activation_scale = ScaleKind::group;
  d.activation_group_k = 128;
  EXPECT_EQ(verdict(d, 64, 2880), "k \"2880\" is not a multiple of activation_group_k \"128\": pad k to 2944");
}

TEST(DescriptorShape, GatedEpiloguesNeedAnEvenN) {
  auto d = w4a16();
  d.epilogue = Activation::silu_mul;
  EXPECT_EQ(verdict(d, 1002, 4096), "ok");
  EXPECT_EQ(verdict(d, 1001, 4096), "n \"1001\" is odd: epilogue \"silu_mul\" pairs its columns");
}

TEST(DescriptorShape, RangeOfNAndK) {
  EXPECT_EQ(verdict(w4a16(), 0, 4096), "n \"0\" is not in [1, 1048576]");
  EXPECT_EQ(verdict(w4a16(), 4096, 0), "k \"0\" is not in [1, 1048576]");
  EXPECT_EQ(verdict(w4a16(), limits::kMaxNK + 1, 4096), "n \"1048577\" is not in [1, 1048576]");
  EXPECT_EQ(verdict(w4a16(), 4096, 0xffffff80u), "k \"4294967168\" is not in [1, 1048576]");
}

TEST(DescriptorShape, RefusesWhatTheDescriptorAlreadyBreaks) {
  EXPECT_EQ(verdict(group(48), 64, 96), "group_k \"48\" is not a power of two of at least 16");
}

TEST(CanonicalDescriptor, ForgetsWhatIsARunTimeParameter) {
  auto d = w4a16();
  d.bias = true;
  d.determinism = Determinism::sm_count;
  d.group_k = 256;
  EXPECT_EQ(canonical(d), canonical(w4a16()));
  EXPECT_EQ(canonical(group(64)), group(64));
  EXPECT_EQ(canonical(channel()), canonical(group(128)));
}

TEST(CanonicalDescriptor, KeepsWhatCodeDependsOn) {
  const auto base = canonical(w4a16());
  EXPECT_NE(canonical(group(32)), base);
  EXPECT_NE(canonical(group(16)), canonical(group(32)));
  EXPECT_NE(canonical(w4a16(DType::f16)), base);
  const auto differs = [&](auto change) {
    auto d = w4a16();
    change(d);
    return canonical(d) != base;
  };
  EXPECT_TRUE(differs([](auto& d) { d.kind = GemmKind::indexed; }));
  EXPECT_TRUE(differs([](auto& d) { d.weight = DType::int8; }));
  EXPECT_TRUE(differs([](auto& d) { d.output = DType::f32; }));
  EXPECT_TRUE(differs([](auto& d) { d.weight_scale_type = DType::f32; }));
  EXPECT_TRUE(differs([](auto& d) { d.weight_global_scale = true; }));
  EXPECT_TRUE(differs([](auto& d) { d.zero_point = ZeroPointKind::integer; }));
  EXPECT_TRUE(differs([](auto& d) { d.epilogue = Activation::silu; }));
  EXPECT_TRUE(differs([](auto& d) { d.accumulation = Accumulation::f16; }));
}

TEST(CanonicalDescriptor, IsLegalAndItsOwnCanonicalForm) {
  for (const auto& d : {w4a16(), group(32), channel(), w8a8(DType::int8), w8a8(DType::e4m3), fp8_block(), nvfp4(),
                        mxfp4(DType::bf16), mxfp4(DType::e4m3), mxfp4(DType::int8)}) {
    EXPECT_TRUE(validate(canonical(d)).ok()) << to_string(canonical(d));
    EXPECT_EQ(canonical(canonical(d)), canonical(d)) << to_string(d);
  }
}

}  // namespace
}  // namespace cubind
