// The one place that knows where a nibble, a scale and a zero point go; the sources (plain arrays, AWQ, GPTQ) differ
// only in how they read element (row, column). Internal to client/weights.
#pragma once

#include <string>

#include "client/weights/pack.hpp"

namespace cubind::weights_detail {

// Of the scales that are given: f16 or bf16.
Status check_scale_type(DType type);

// "weights buffer of \"12\" bytes: the layout has 512" and the like.
Status check_buffers(const PackedLayout& layout, const PackedView& out);

inline Status check_length(const char* name, std::size_t length, std::size_t expected) {
  if (length == expected) return {};
  return Error{ErrorCode::invalid_argument, std::string(name) + " has \"" + std::to_string(length) +
                                                "\" elements: the shape needs " + std::to_string(expected)};
}

inline std::string position(const char* name, std::uint32_t row, std::uint32_t group) {
  return std::string(name) + " of row " + std::to_string(row) + ", group " + std::to_string(group);
}

// The bits of one scale in the layout's type.
Result<std::uint16_t> convert_scale(DType from, std::uint16_t bits, DType to, std::uint32_t row, std::uint32_t group);

// nibble(row, column) -> 0..15, scale(row, group) -> bits of scale_type, zero(row, group) -> 0..15. Called only inside
// the matrix. k tiles are the outer loop: AWQ and GPTQ keep a k row's columns together, so this reads them in long
// runs.
template <class Nibble, class Scale, class Zero>
Status write_tiles(const PackedLayout& layout, const PackedView& out, DType scale_type, const Nibble& nibble,
                   const Scale& scale, const Zero& zero) {
  CUBIND_CHECK(check_buffers(layout, out));
  CUBIND_CHECK(check_scale_type(scale_type));

  for (std::uint32_t n_row = 0; n_row < layout.n_tiles * kPackRows; ++n_row) {
    for (std::uint32_t group = 0; group < layout.k_groups; ++group) {
      const std::size_t at = layout.scale_index(n_row, group);
      std::uint16_t bits = 0;
      std::uint32_t zero_point = 0;
      if (n_row < layout.n) {
        CUBIND_TRY(bits, convert_scale(scale_type, scale(n_row, group), layout.scale_type, n_row, group));
        zero_point = zero(n_row, group);
        if (layout.zero_points ? zero_point > 15 : zero_point != 8) {
          return Error{ErrorCode::invalid_argument,
                       position("zero point", n_row, group) + " is \"" + std::to_string(zero_point) +
                           (layout.zero_points ? "\": int4 is at most 15" : "\": a symmetric layer's is 8 everywhere")};
        }
      }
      store_le<std::uint16_t>(out.scales.data() + 2 * at, bits);
      if (layout.zero_points) out.zeros[at] = static_cast<std::byte>(zero_point);
    }
  }

  for (std::uint32_t k_tile = 0; k_tile < layout.k_tiles; ++k_tile) {
    for (std::uint32_t n_tile = 0; n_tile < layout.n_tiles; ++n_tile) {
      std::byte* unit = out.weights.data() + (std::size_t{n_tile} * layout.k_tiles + k_tile) * 512;
      // What a padded column of each of the 16 rows holds: its value is zero.
      std::uint8_t neutral[kPackRows];
      for (std::uint32_t r = 0; r < kPackRows; ++r) {
        const std::uint32_t row = n_tile * kPackRows + r;
        neutral[r] = 8;
        if (layout.zero_points) {
          const auto at = layout.scale_index(row, layout.k_groups - 1);
          neutral[r] = static_cast<std::uint8_t>(out.zeros[at]);
        }
      }
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        for (std::uint32_t step = 0; step < 4; ++step) {
          std::uint32_t word = 0;
          for (std::uint32_t j = 0; j < 4; ++j) {
            const std::uint32_t r = lane / 4 + 8 * (j % 2);
            const std::uint32_t row = n_tile * kPackRows + r;
            const std::uint32_t column = k_tile * kPackColumns + 16 * step + 8 * (j / 2) + 2 * (lane % 4);
            for (std::uint32_t h = 0; h < 2; ++h) {
              const bool inside = row < layout.n && column + h < layout.k;
              const std::uint32_t q = inside ? nibble(row, column + h) : neutral[r];
              word |= q << (4 * j + 16 * h);
            }
          }
          store_le<std::uint32_t>(unit + 16 * lane + 4 * step, word);
        }
      }
    }
  }
  return {};
}

}  // namespace cubind::weights_detail
