// The 16-bit floats on the host, as bits. Conversions to 16 bits round to nearest even, as the device's do.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

namespace cubind::emulator {

inline double f16_to_double(unsigned bits) {
  const std::uint64_t sign = static_cast<std::uint64_t>(bits & 0x8000) << 48;
  const std::uint64_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 0) return (sign != 0 ? -0x1p-24 : 0x1p-24) * static_cast<double>(mantissa);
  const std::uint64_t wide = exponent == 31 ? 2047 : exponent + 1023 - 15;
  return std::bit_cast<double>(sign | wide << 52 | mantissa << 42);
}

inline double bf16_to_double(unsigned bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0xffff) << 16);
}

// A float of kMantissa stored bits whose smallest normal exponent is kMinExponent, in 16 bits with the sign.
template <unsigned kMantissa, int kMinExponent>
unsigned round_to_16_bits(double value) {
  constexpr std::uint64_t kHidden = std::uint64_t{1} << 52, kInfinity = 0x7fffu >> kMantissa << kMantissa;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const unsigned sign = static_cast<unsigned>(bits >> 48) & 0x8000u;
  const int exponent = static_cast<int>(bits >> 52 & 2047) - 1023;
  std::uint64_t mantissa = bits & (kHidden - 1);
  if (exponent == 1024) return mantissa != 0 ? 0x7fffu : sign | static_cast<unsigned>(kInfinity);
  if (exponent == -1023) return sign;  // far below half of the smallest subnormal

  unsigned dropped = 52 - kMantissa;
  if (exponent < kMinExponent) {
    dropped += static_cast<unsigned>(kMinExponent - exponent);
    if (dropped > 60) return sign;
    mantissa |= kHidden;
  } else {
    mantissa |= static_cast<std::uint64_t>(std::min(exponent - kMinExponent + 1, 1023)) << 52;
  }
  std::uint64_t result = mantissa >> dropped;
  const std::uint64_t rest = mantissa - (result << dropped), half = std::uint64_t{1} << (dropped - 1);
  if (rest > half || (rest == half && result % 2 != 0)) ++result;  // a carry runs into the exponent by itself
  return sign | static_cast<unsigned>(std::min(result, kInfinity));
}

inline unsigned double_to_f16(double value) {
  return round_to_16_bits<10, -14>(value);
}
inline unsigned double_to_bf16(double value) {
  return round_to_16_bits<7, -126>(value);
}

// By a table: for the MMAs.
inline float f16_to_float(unsigned bits) {
  static const auto table = [] {
    auto values = std::make_unique<float[]>(65536);
    for (unsigned i = 0; i < 65536; ++i) values[i] = static_cast<float>(f16_to_double(i));
    return values;
  }();
  return table[bits];
}

inline float bf16_to_float(unsigned bits) {
  return std::bit_cast<float>(bits << 16);
}

}  // namespace cubind::emulator
