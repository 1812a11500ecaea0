#include "client/weights/act_order.hpp"
#include "client/weights/repack.hpp"
#include "client/weights/tile_writer.hpp"

namespace cubind {

namespace {

// Every k that `order` puts into a group must be of that group.
Status check_act_order(const PackedLayout& layout, std::span<const std::int32_t> g_idx,
                       std::span<const std::int32_t> order) {
  CUBIND_CHECK(weights_detail::check_length("k_order", order.size(), layout.k));
  CUBIND_TRY(const auto expected, act_order(layout, g_idx));
  for (std::uint32_t i = 0; i < layout.k; ++i) {
    if (order[i] == expected[i]) continue;
    return Error{ErrorCode::invalid_argument, "k_order of k " + std::to_string(i) + " is \"" +
                                                  std::to_string(order[i]) + "\": g_idx gives " +
                                                  std::to_string(expected[i])};
  }
  return {};
}

Status check_order(const PackedLayout& layout, std::span<const std::int32_t> g_idx,
                   std::span<const std::int32_t> order) {
  if (!order.empty()) return check_act_order(layout, g_idx, order);
  if (g_idx.empty()) return {};
  CUBIND_CHECK(weights_detail::check_length("g_idx", g_idx.size(), layout.k));
  for (std::uint32_t i = 0; i < layout.k; ++i) {
    if (g_idx[i] == static_cast<std::int32_t>(i / layout.group_k)) continue;
    return Error{ErrorCode::not_supported, "g_idx of k " + std::to_string(i) + " is \"" + std::to_string(g_idx[i]) +
                                               "\", not its group " + std::to_string(i / layout.group_k) +
                                               ": act-order (desc_act) needs a k_order"};
  }
  return {};
}

}  // namespace

Status repack_gptq(const PackedLayout& layout, const GptqTensors& tensors, const PackedView& out) {
  const std::size_t n = layout.n, k = layout.k, words = n / 8, groups = layout.k_groups;
  if (n % 8 != 0) {
    return Error{ErrorCode::invalid_argument,
                 "n \"" + std::to_string(n) + "\" is not a multiple of 8: GPTQ packs 8 zero points a word"};
  }
  CUBIND_CHECK(weights_detail::check_length("qweight", tensors.qweight.size(), k / 8 * n));
  CUBIND_CHECK(weights_detail::check_length("scales", tensors.scales.size(), groups * n));
  const bool has_zeros = layout.zero_points || !tensors.qzeros.empty();
  CUBIND_CHECK(weights_detail::check_length("qzeros", tensors.qzeros.size(), has_zeros ? groups * words : 0));
  CUBIND_CHECK(check_order(layout, tensors.g_idx, tensors.k_order));

  // The word as a whole: writers subtract 0x11111111, so a zero point of 0 borrows from its neighbour.
  const std::uint32_t stored_less = tensors.v2 ? 0 : 0x11111111u;
  return weights_detail::write_tiles(
      layout, out, tensors.scale_type,
      [&](std::uint32_t row, std::uint32_t column) {
        if (!tensors.k_order.empty()) column = static_cast<std::uint32_t>(tensors.k_order[column]);
        return tensors.qweight[column / 8 * n + row] >> (4 * (column % 8)) & 15;
      },
      [&](std::uint32_t row, std::uint32_t group) { return tensors.scales[group * n + row]; },
      [&](std::uint32_t row, std::uint32_t group) {
        return has_zeros ? (tensors.qzeros[group * words + row / 8] + stored_less) >> (4 * (row % 8)) & 15 : 8u;
      });
}

}  // namespace cubind
