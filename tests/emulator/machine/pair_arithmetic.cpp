#include "tests/emulator/machine/pair_arithmetic.hpp"

namespace cubind::emulator {
namespace {

// A product has at most 22 bits, so the fma in double is exact unless the addends lie more than 2^30 apart; then the
// smaller one is far below half a unit of the 16-bit result, whatever is left of it.
template <double (*kFrom)(unsigned), unsigned (*kTo)(double)>
unsigned fma_pair(unsigned a, unsigned b, unsigned c) {
  const unsigned low = kTo(kFrom(a & 0xffff) * kFrom(b & 0xffff) + kFrom(c & 0xffff));
  const unsigned high = kTo(kFrom(a >> 16) * kFrom(b >> 16) + kFrom(c >> 16));
  return low | high << 16;
}

}  // namespace

unsigned fma_f16x2(unsigned a, unsigned b, unsigned c) {
  return fma_pair<f16_to_double, double_to_f16>(a, b, c);
}
unsigned fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  return fma_pair<bf16_to_double, double_to_bf16>(a, b, c);
}

}  // namespace cubind::emulator
