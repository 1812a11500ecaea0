#include "tests/emulator/machine/warp_instructions.hpp"

#include <bit>
#include <memory>

#include "tests/emulator/machine/float16.hpp"

namespace cubind::emulator {
namespace {

float f16_to_float(unsigned bits) {
  static const auto table = [] {
    auto values = std::make_unique<float[]>(65536);
    for (unsigned i = 0; i < 65536; ++i) values[i] = static_cast<float>(f16_to_double(i));
    return values;
  }();
  return table[bits];
}

float bf16_to_float(unsigned bits) {
  return std::bit_cast<float>(bits << 16);
}

// kSteps of 8 k: element (row, k) of A is half k % 2 of register row / 8 + 2 (k / 8) of lane 4 (row % 8) + k % 8 / 2;
// element (k, column) of B is half k % 2 of register k / 8 of lane 4 column + k % 8 / 2; element (row, column) of D is
// register column % 2 + 2 (row / 8) of lane 4 (row % 8) + column / 2. Sums in f32, which the tensor cores' internal
// width is close to.
template <unsigned kSteps, float (*kToFloat)(unsigned)>
void mma(void* const (&arguments)[32]) {
  constexpr unsigned kK = 8 * kSteps;
  static float a[kK][16], b[kK][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto& in = *static_cast<const MmaArguments*>(arguments[lane]);
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned step = 0; step < kSteps; ++step) {
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned k = 8 * step + 2 * t + half;
        a[k][g] = kToFloat(in.a[2 * step] >> 16 * half & 0xffff);
        a[k][g + 8] = kToFloat(in.a[2 * step + 1] >> 16 * half & 0xffff);
        b[k][g] = kToFloat(in.b[step] >> 16 * half & 0xffff);
      }
    }
  }
  static float d[16][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const float* in = static_cast<const MmaArguments*>(arguments[lane])->d;
    for (unsigned e = 0; e < 4; ++e) d[lane / 4 + e / 2 * 8][lane % 4 * 2 + e % 2] = in[e];
  }
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned k = 0; k < kK; ++k) {
      for (unsigned column = 0; column < 8; ++column) d[row][column] += a[k][row] * b[k][column];
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    float* out = static_cast<const MmaArguments*>(arguments[lane])->d;
    for (unsigned e = 0; e < 4; ++e) out[e] = d[lane / 4 + e / 2 * 8][lane % 4 * 2 + e % 2];
  }
}

}  // namespace

void ldmatrix_x4(SharedMemory& shared, unsigned first_thread, void* const (&arguments)[32]) {
  unsigned rows[32][4];  // row i % 8 of matrix i / 8: eight 16-bit values
  for (unsigned i = 0; i < 32; ++i) {
    shared.read(rows[i], static_cast<const LdmatrixArguments*>(arguments[i])->address, 16, first_thread + i);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned* value = static_cast<const LdmatrixArguments*>(arguments[lane])->value;
    for (unsigned matrix = 0; matrix < 4; ++matrix) value[matrix] = rows[matrix * 8 + lane / 4][lane % 4];
  }
}

void mma_m16n8k16_f16(SharedMemory&, unsigned, void* const (&arguments)[32]) {
  mma<2, f16_to_float>(arguments);
}
void mma_m16n8k16_bf16(SharedMemory&, unsigned, void* const (&arguments)[32]) {
  mma<2, bf16_to_float>(arguments);
}
void mma_m16n8k8_f16(SharedMemory&, unsigned, void* const (&arguments)[32]) {
  mma<1, f16_to_float>(arguments);
}

}  // namespace cubind::emulator
