#include "client/weights/reference.hpp"

#include <algorithm>

#include "client/weights/tile_writer.hpp"

namespace cubind {

namespace {

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

}  // namespace cubind
