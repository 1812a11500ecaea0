#include "client/weights/half.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "protocol/gemm_descriptor.hpp"

namespace cubind {
namespace {

TEST(HalfNumbers, KnownPatterns) {
  EXPECT_EQ(to_double(DType::f16, 0x3c00), 1.0);
  EXPECT_EQ(to_double(DType::f16, 0x7bff), 65504.0);
  EXPECT_EQ(to_double(DType::f16, 0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(to_double(DType::f16, 0xc000), -2.0);
  EXPECT_EQ(to_double(DType::bf16, 0x3f80), 1.0);
  EXPECT_EQ(to_double(DType::bf16, 0x4049), 3.140625);
  EXPECT_TRUE(std::isinf(to_double(DType::bf16, 0x7f80)));
  EXPECT_TRUE(std::isnan(to_double(DType::f16, 0x7e00)));
}

TEST(HalfNumbers, EveryPatternGoesThereAndBack) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = to_double(type, static_cast<std::uint16_t>(bits));
      if (std::isnan(value)) continue;
      ASSERT_EQ(from_double(type, value), bits) << to_string(type) << " " << bits;
    }
  }
}

TEST(HalfNumbers, RoundsToNearestEven) {
  // f16 has 10 bits of mantissa: between 1 and 1 + 2^-10 the middle goes to the even neighbour.
  EXPECT_EQ(from_double(DType::f16, 1 + std::ldexp(1.0, -11)), 0x3c00);
  EXPECT_EQ(from_double(DType::f16, 1 + 3 * std::ldexp(1.0, -11)), 0x3c02);
  EXPECT_EQ(from_double(DType::f16, 1 + std::ldexp(1.0, -11) + 1e-9), 0x3c01);
  EXPECT_EQ(from_double(DType::bf16, 1 + std::ldexp(1.0, -8)), 0x3f80);
  EXPECT_EQ(from_double(DType::bf16, -(1 + 3 * std::ldexp(1.0, -8))), 0xbf82);
  EXPECT_EQ(from_double(DType::f16, std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(from_double(DType::f16, std::ldexp(3.0, -25)), 0x0002);
}

TEST(HalfNumbers, ValuesBetweenTwoNeighboursGoToTheNearer) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (std::uint16_t bits = 0; is_finite(type, bits + 1); ++bits) {
      const double low = to_double(type, bits), high = to_double(type, bits + 1), middle = low + (high - low) / 2;
      ASSERT_EQ(from_double(type, middle), bits % 2 == 0 ? bits : bits + 1);
      ASSERT_EQ(from_double(type, std::nextafter(middle, low)), bits);
      ASSERT_EQ(from_double(type, -std::nextafter(middle, high)), 0x8000 | (bits + 1));
    }
  }
}

TEST(HalfNumbers, OverflowIsInfinity) {
  EXPECT_EQ(from_double(DType::f16, 65519.0), 0x7bff);
  EXPECT_EQ(from_double(DType::f16, 65520.0), 0x7c00);
  EXPECT_EQ(from_double(DType::f16, -1e300), 0xfc00);
  EXPECT_EQ(from_double(DType::bf16, 1e300), 0x7f80);
  EXPECT_EQ(from_double(DType::bf16, std::numeric_limits<double>::infinity()), 0x7f80);
  EXPECT_TRUE(std::isnan(to_double(DType::f16, from_double(DType::f16, std::nan("")))));
  EXPECT_EQ(from_double(DType::bf16, 5e-324), 0x0000);
}

}  // namespace
}  // namespace cubind
