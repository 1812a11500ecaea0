#include "client/weights/half.hpp"

#include <algorithm>
#include <bit>

namespace cubind {

namespace {

struct Format {
  int mantissa_bits;
  int exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int lowest() const { return 1 - bias() - mantissa_bits; }  // exponent of the subnormals' last bit
  unsigned infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
};
constexpr Format format_of(DType type) {
  return type == DType::f16 ? Format{10, 5} : Format{7, 8};
}

constexpr int kDoubleBias = 1023;
constexpr int kDoubleMantissa = 52;
constexpr std::uint64_t kDoubleInfinity = 0x7ffull << kDoubleMantissa;

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleMantissa);
}

}  // namespace

bool is_finite(DType type, std::uint16_t bits) {
  return (bits & 0x7fffu) < format_of(type).infinity();
}

double to_double(DType type, std::uint16_t bits) {
  const Format format = format_of(type);
  const std::uint64_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int exponent = bits >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
  const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
  if (!is_finite(type, bits)) {
    return std::bit_cast<double>((std::uint64_t{bits} >> 15 << 63) | kDoubleInfinity |
                                 mantissa << (kDoubleMantissa - format.mantissa_bits));
  }
  if (exponent == 0) return sign * static_cast<double>(mantissa) * power_of_two(format.lowest());
  return sign * static_cast<double>(mantissa | 1u << format.mantissa_bits) *
         power_of_two(format.lowest() + exponent - 1);
}

std::uint16_t from_double(DType type, double value) {
  const Format format = format_of(type);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<unsigned>(bits >> 63 << 15);
  const std::uint64_t magnitude = bits & ~(1ull << 63);
  if (magnitude > kDoubleInfinity) {
    return static_cast<std::uint16_t>(sign | format.infinity() | 1u << (format.mantissa_bits - 1));
  }
  if (magnitude == kDoubleInfinity) return static_cast<std::uint16_t>(sign | format.infinity());
  const int exponent = static_cast<int>(magnitude >> kDoubleMantissa);
  if (exponent == 0) return static_cast<std::uint16_t>(sign);  // a double's subnormals are far below ours

  // The magnitude is significand * 2^(exponent - 1075). In units of the last bit of its binade in the narrow format it
  // is below 2^(mantissa_bits + 1); rounded to nearest even and added to the exponent field, a carry goes there by
  // itself.
  const std::uint64_t significand = (magnitude & ((1ull << kDoubleMantissa) - 1)) | 1ull << kDoubleMantissa;
  const int unit = std::max(exponent - kDoubleBias - format.mantissa_bits, format.lowest());
  const int shift = unit - (exponent - kDoubleBias - kDoubleMantissa);
  if (shift > kDoubleMantissa + 1) return static_cast<std::uint16_t>(sign);  // less than half a unit
  std::uint64_t rounded = significand >> shift;
  const std::uint64_t rest = significand & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  const auto steps =
      static_cast<std::uint64_t>(unit - format.lowest());  // exponent field minus one, for normal numbers
  const std::uint64_t narrow = (steps << format.mantissa_bits) + rounded;
  return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(narrow, format.infinity()));
}

}  // namespace cubind
