#include "client/weights/pack.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/weights/reference.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;

GemmDescriptor w4a16(DType type, std::uint32_t group_k, bool zero_points) {
  GemmDescriptor descriptor;
  descriptor.activation = descriptor.output = descriptor.weight_scale_type = type;
  descriptor.weight_scale = group_k == 0 ? ScaleKind::channel : ScaleKind::group;
  descriptor.group_k = group_k;
  descriptor.zero_point = zero_points ? ZeroPointKind::integer : ZeroPointKind::none;
  return descriptor;
}

struct Plain {
  std::vector<std::uint8_t> q, zeros;
  std::vector<std::uint16_t> scales;
  DType type;
  PlainWeights view() const { return {q, scales, type, zeros}; }
};

Plain random_plain(const PackedLayout& layout, std::uint32_t seed) {
  std::mt19937 random(seed);
  Plain plain{std::vector<std::uint8_t>(std::size_t{layout.n} * layout.k), {}, {}, layout.scale_type};
  for (auto& q : plain.q) q = random() % 16;
  plain.scales.resize(std::size_t{layout.n} * layout.k_groups);
  for (auto& scale : plain.scales) scale = from_double(layout.scale_type, 0.001 + (random() % 1000) * 1e-5);
  if (layout.zero_points) {
    plain.zeros.resize(plain.scales.size());
    for (auto& zero : plain.zeros) zero = random() % 16;
  }
  return plain;
}

TEST(PackedLayout, SizesOfALlamaLayer) {
  const auto layout = packed_layout(w4a16(DType::bf16, 128, true), 6144, 4096);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->weight_bytes, 6144u * 4096 / 2);
  EXPECT_EQ(layout->scale_bytes, 6144u * 32 * 2);
  EXPECT_EQ(layout->zero_bytes, 6144u * 32);
}

TEST(PackedLayout, PadsRowsTo16AndColumnsTo64) {
  const auto layout = packed_layout(w4a16(DType::f16, 32, false), 1001, 1440);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->n_tiles, 63u);
  EXPECT_EQ(layout->k_tiles, 23u);
  EXPECT_EQ(layout->k_groups, 45u);
  EXPECT_EQ(layout->zero_bytes, 0u);
}

TEST(PackedLayout, RefusesWhatLayout1DoesNotHold) {
  auto descriptor = w4a16(DType::bf16, 128, false);
  descriptor.weight = DType::int8;
  const auto layout = packed_layout(descriptor, 64, 128);
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().code, ErrorCode::not_supported);
  EXPECT_THAT(layout.error().message, HasSubstr("weight \"int8\""));
}

TEST(PackedLayout, RefusesKThatIsNoMultipleOfTheGroup) {
  const auto layout = packed_layout(w4a16(DType::bf16, 128, false), 64, 2880);
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(layout.error().message, HasSubstr("2880"));
}

// Every value of a shape with tails in both directions comes back, and all of the padding is exactly zero.
class RoundTrip : public ::testing::TestWithParam<std::tuple<DType, std::uint32_t, bool>> {};

TEST_P(RoundTrip, ValuesComeBackAndPaddingIsZero) {
  const auto [type, group_k, zero_points] = GetParam();
  const std::uint32_t n = 37, k = group_k == 128 ? 256 : group_k == 0 ? 136 : 3 * group_k;
  const auto layout = packed_layout(w4a16(type, group_k, zero_points), n, k);
  ASSERT_TRUE(layout.ok()) << to_string(layout.error());
  const auto plain = random_plain(*layout, group_k + zero_points);
  auto packed = allocate(*layout);
  for (auto* buffer : {&packed.weights, &packed.scales, &packed.zeros}) {
    for (auto& byte : *buffer) byte = std::byte{0xa5};  // everything must be written
  }
  const auto status = pack(*layout, plain.view(), packed.view());
  ASSERT_TRUE(status.ok()) << to_string(status.error());

  const auto values = dequantize(*layout, packed.view());
  const auto padded = dequantize_padded(*layout, packed.view());
  ASSERT_TRUE(values.ok() && padded.ok());
  const std::uint32_t padded_k = layout->k_tiles * 64;
  ASSERT_EQ(padded->size(), std::size_t{layout->n_tiles} * 16 * padded_k);
  for (std::uint32_t row = 0; row < layout->n_tiles * 16; ++row) {
    for (std::uint32_t column = 0; column < padded_k; ++column) {
      double expected = 0;
      if (row < n && column < k) {
        const std::size_t at = std::size_t{row} * layout->k_groups + column / layout->group_k;
        const double zero = zero_points ? plain.zeros[at] : 8;
        expected = to_double(type, plain.scales[at]) * (plain.q[std::size_t{row} * k + column] - zero);
        ASSERT_EQ((*values)[std::size_t{row} * k + column], expected) << row << ", " << column;
      }
      ASSERT_EQ((*padded)[std::size_t{row} * padded_k + column], expected) << row << ", " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip,
                         ::testing::Combine(::testing::Values(DType::f16, DType::bf16),
                                            ::testing::Values(0u, 32u, 64u, 128u), ::testing::Bool()));

TEST(Pack, NamesTheValueThatIsNoInt4) {
  const auto layout = packed_layout(w4a16(DType::bf16, 64, false), 16, 64);
  ASSERT_TRUE(layout.ok());
  auto plain = random_plain(*layout, 1);
  plain.q[3 * 64 + 5] = 16;
  auto packed = allocate(*layout);
  const auto status = pack(*layout, plain.view(), packed.view());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "q of row 3, column 5 is \"16\": int4 is at most 15");
}

TEST(Pack, RefusesScalesThatAreNotFiniteOrOverflow) {
  const auto layout = packed_layout(w4a16(DType::f16, 64, false), 16, 64);
  ASSERT_TRUE(layout.ok());
  auto plain = random_plain(*layout, 1);
  auto packed = allocate(*layout);
  plain.scales[2] = 0x7c00;
  EXPECT_THAT(pack(*layout, plain.view(), packed.view()).error().message, HasSubstr("scale of row 2, group 0"));
  plain.type = DType::bf16;
  plain.scales.assign(plain.scales.size(), 0x3f80);
  plain.scales[7] = 0x7f00;  // 1.7e38
  EXPECT_THAT(pack(*layout, plain.view(), packed.view()).error().message, HasSubstr("too large for f16"));
}

TEST(Pack, RefusesBuffersAndArraysOfTheWrongSize) {
  const auto layout = packed_layout(w4a16(DType::f16, 64, true), 16, 64);
  ASSERT_TRUE(layout.ok());
  const auto plain = random_plain(*layout, 1);
  auto packed = allocate(*layout);
  packed.zeros.pop_back();
  EXPECT_THAT(pack(*layout, plain.view(), packed.view()).error().message, HasSubstr("packed zeros buffer"));
  auto missing = plain;
  missing.zeros.clear();
  packed = allocate(*layout);
  EXPECT_THAT(pack(*layout, missing.view(), packed.view()).error().message, HasSubstr("zeros has \"0\" elements"));
}

TEST(Reference, MultipliesRowsAndAddsTheBias) {
  const std::vector<double> x{1, 2, 3, 4}, w{1, 1, 10, 100}, bias{0.5, -0.5};
  EXPECT_EQ(multiply(x, w, bias, 2, 2, 2), (std::vector<double>{3.5, 209.5, 7.5, 429.5}));
  EXPECT_EQ(multiply(x, w, {}, 2, 2, 2), (std::vector<double>{3, 210, 7, 430}));
}

}  // namespace
}  // namespace cubind
