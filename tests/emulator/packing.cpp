#include "tests/emulator/packing.hpp"

#include <random>

namespace cubind::emulator {

void pack_weights(std::uint32_t* packed, const std::vector<unsigned char>& q, unsigned n, unsigned k) {
  std::mt19937 random(7);
  const unsigned panels = (n + 15) / 16, units = (k + 63) / 64;
  for (unsigned panel = 0; panel < panels; ++panel) {
    for (unsigned unit = 0; unit < units; ++unit) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned step = 0; step < 4; ++step) {
          std::uint32_t word = 0;
          for (unsigned j = 0; j < 4; ++j) {
            for (unsigned h = 0; h < 2; ++h) {
              const unsigned row = panel * 16 + lane / 4 + (j % 2 == 1 ? 8 : 0);
              const unsigned column = unit * 64 + step * 16 + (j >= 2 ? 8 : 0) + 2 * (lane % 4) + h;
              const std::uint32_t value = row < n && column < k ? q[std::size_t{row} * k + column] : random() & 15;
              word |= value << (4 * j + 16 * h);
            }
          }
          *packed++ = word;
        }
      }
    }
  }
}

}  // namespace cubind::emulator
