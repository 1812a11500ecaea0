// weight_layout 1 from its definition in codegen/device/tile/packed_weights.cuh, nibble by nibble: written apart from
// the project's packing (client/weights) so that the two can disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubind::emulator {

// q: [n][k], 0 .. 15. packed: [panels][units][32][4] words. Padding becomes random nibbles, because a kernel may count
// on nothing there: k from K on meets activations that are zero, rows from n on are not stored.
void pack_weights(std::uint32_t* packed, const std::vector<unsigned char>& q, unsigned n, unsigned k);

// values: [n][groups]. packed: [panels][groups][8][2], rows g and g + 8 next to each other. Rows from n on are left
// alone.
template <class T>
void pack_groups(T* packed, const std::vector<T>& values, unsigned groups, unsigned n) {
  for (unsigned row = 0; row < n; ++row) {
    for (unsigned group = 0; group < groups; ++group) {
      const std::size_t pair = (std::size_t{row / 16} * groups + group) * 8 + row % 8;
      packed[pair * 2 + row % 16 / 8] = values[std::size_t{row} * groups + group];
    }
  }
}

}  // namespace cubind::emulator
