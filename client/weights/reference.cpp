#include "client/weights/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/weights/tile_writer.hpp"

namespace cubind {

namespace {

struct HalfFormat {
  int mantissa_bits;
  int exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
HalfFormat format_of(DType type) {
  return type == DType::f16 ? HalfFormat{10, 5} : HalfFormat{7, 8};
}

// q of (row, column) of the padded grid, read back through the fragment's definition: register j holds rows g and g + 8
// alternating, registers 2 and 3 the upper 8 columns of the step.
std::uint32_t packed_nibble(const PackedLayout& layout, std::span<const std::byte> weights, std::uint32_t row,
                            std::uint32_t column) {
  const std::size_t unit = std::size_t{row / kPackRows} * layout.k_tiles + column / kPackColumns;
  const std::uint32_t r = row % kPackRows, c = column % kPackColumns;
  const std::uint32_t step = c / 16, within = c % 16;
  const std::uint32_t lane = 4 * (r % 8) + (within % 8) / 2;
  const std::uint32_t j = r / 8 + 2 * (within / 8);
  const auto word = load_le<std::uint32_t>(weights.data() + unit * 512 + lane * 16 + step * 4);
  return word >> (4 * j + 16 * (within % 2)) & 15;
}

Result<std::vector<double>> dequantize_rows(const PackedLayout& layout, const PackedView& packed, std::uint32_t rows,
                                            std::uint32_t columns) {
  CUBIND_CHECK(weights_detail::check_buffers(layout, packed));
  std::vector<double> out(std::size_t{rows} * columns);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      // Columns of the padding belong to the last group, as in the kernels.
      const std::uint32_t group = std::min(column / layout.group_k, layout.k_groups - 1);
      const std::size_t at = layout.scale_index(row, group);
      const double scale = to_double(layout.scale_type, load_le<std::uint16_t>(packed.scales.data() + 2 * at));
      const double zero = layout.zero_points ? static_cast<double>(static_cast<unsigned>(packed.zeros[at])) : 8.0;
      out[std::size_t{row} * columns + column] = scale * (packed_nibble(layout, packed.weights, row, column) - zero);
    }
  }
  return out;
}

}  // namespace

Result<std::vector<double>> dequantize(const PackedLayout& layout, const PackedView& packed) {
  return dequantize_rows(layout, packed, layout.n, layout.k);
}

Result<std::vector<double>> dequantize_padded(const PackedLayout& layout, const PackedView& packed) {
  return dequantize_rows(layout, packed, layout.n_tiles * kPackRows, layout.k_tiles * kPackColumns);
}

std::vector<double> multiply(std::span<const double> x, std::span<const double> w, std::span<const double> bias,
                             std::size_t m, std::size_t n, std::size_t k) {
  std::vector<double> out(m * n);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = bias.empty() ? 0.0 : bias[column];
      for (std::size_t i = 0; i < k; ++i) sum += x[row * k + i] * w[column * k + i];
      out[row * n + column] = sum;
    }
  }
  return out;
}

double to_double(DType type, std::uint16_t bits) {
  const HalfFormat format = format_of(type);
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = bits >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
  const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int lowest = 1 - format.bias() - format.mantissa_bits;  // exponent of the subnormals' last bit
  if (exponent == 0) return sign * std::ldexp(mantissa, lowest);
  return sign * std::ldexp(mantissa + (1 << format.mantissa_bits), lowest + exponent - 1);
}

std::uint16_t from_double(DType type, double value) {
  const HalfFormat format = format_of(type);
  const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
  const unsigned infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1u << (format.mantissa_bits - 1));
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);

  // In units of the last bit of the value's binade the magnitude is below 2^(mantissa_bits + 1); rounding that integer
  // to nearest even and adding it to the exponent field carries into the exponent by itself.
  const int lowest = 1 - format.bias() - format.mantissa_bits;
  const int unit = std::max(std::ilogb(magnitude) - format.mantissa_bits, lowest);
  const double rounded = std::nearbyint(std::ldexp(magnitude, -unit));
  const auto steps = static_cast<std::uint64_t>(unit - lowest);  // exponent field minus one, for normal numbers
  const std::uint64_t bits = (steps << format.mantissa_bits) + static_cast<std::uint64_t>(rounded);
  return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(bits, infinity));
}

}  // namespace cubind
