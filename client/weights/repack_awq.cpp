#include "client/weights/repack.hpp"
#include "client/weights/tile_writer.hpp"

namespace cubind {

namespace {

// Where column c of a word's 8 is: the inverse of {0, 2, 4, 6, 1, 3, 5, 7}.
constexpr std::uint32_t kNibbleOfColumn[8] = {0, 4, 1, 5, 2, 6, 3, 7};

}  // namespace

Status repack_awq(const PackedLayout& layout, const AwqTensors& tensors, const PackedView& out) {
  const std::size_t n = layout.n, k = layout.k, words = n / 8, groups = layout.k_groups;
  if (n % 8 != 0) {
    return Error{ErrorCode::invalid_argument,
                 "n \"" + std::to_string(n) + "\" is not a multiple of 8: AWQ packs 8 columns a word"};
  }
  CUBIND_CHECK(weights_detail::check_length("qweight", tensors.qweight.size(), k * words));
  CUBIND_CHECK(weights_detail::check_length("scales", tensors.scales.size(), groups * n));
  const bool has_zeros = layout.zero_points || !tensors.qzeros.empty();
  CUBIND_CHECK(weights_detail::check_length("qzeros", tensors.qzeros.size(), has_zeros ? groups * words : 0));

  return weights_detail::write_tiles(
      layout, out, tensors.scale_type,
      [&](std::uint32_t row, std::uint32_t column) {
        return tensors.qweight[column * words + row / 8] >> (4 * kNibbleOfColumn[row % 8]) & 15;
      },
      [&](std::uint32_t row, std::uint32_t group) { return tensors.scales[group * n + row]; },
      [&](std::uint32_t row, std::uint32_t group) {
        return has_zeros ? tensors.qzeros[group * words + row / 8] >> (4 * kNibbleOfColumn[row % 8]) & 15 : 8u;
      });
}

}  // namespace cubind
