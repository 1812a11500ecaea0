// Act-order (desc_act) of GPTQ checkpoints: g_idx gives each k any scale group, but kernels want the k of a group side
// by side. So the packed k are the checkpoint's in the order of their groups, and x has its columns in that order, too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "client/weights/pack.hpp"

namespace cubind {

// [k]: which k of the checkpoint is packed at each place: ascending by group, within a group as in the checkpoint. The
// identity if g_idx is k / group. invalid_argument if g_idx names a group that does not exist, or gives one more or
// fewer k than the layout's group_k.
Result<std::vector<std::int32_t>> act_order(const PackedLayout& layout, std::span<const std::int32_t> g_idx);

}  // namespace cubind
