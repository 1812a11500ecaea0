#include "client/weights/act_order.hpp"

#include "client/weights/tile_writer.hpp"

namespace cubind {

Result<std::vector<std::int32_t>> act_order(const PackedLayout& layout, std::span<const std::int32_t> g_idx) {
  CUBIND_CHECK(weights_detail::check_length("g_idx", g_idx.size(), layout.k));
  std::vector<std::int32_t> order(layout.k);
  std::vector<std::uint32_t> members(layout.k_groups);
  for (std::uint32_t k = 0; k < layout.k; ++k) {
    const std::int32_t group = g_idx[k];
    if (group < 0 || static_cast<std::uint32_t>(group) >= layout.k_groups) {
      return Error{ErrorCode::invalid_argument, "g_idx of k " + std::to_string(k) + " is \"" + std::to_string(group) +
                                                    "\": there are " + std::to_string(layout.k_groups) + " groups"};
    }
    std::uint32_t& count = members[static_cast<std::uint32_t>(group)];
    if (count == layout.group_k) {
      return Error{ErrorCode::invalid_argument, "g_idx of k " + std::to_string(k) + " is \"" + std::to_string(group) +
                                                    "\": a group has " + std::to_string(layout.group_k) + " k"};
    }
    order[static_cast<std::size_t>(group) * layout.group_k + count++] = static_cast<std::int32_t>(k);
  }
  return order;  // no group has too many, so none has too few
}

}  // namespace cubind
