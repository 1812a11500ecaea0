#include "tests/emulator/machine/warp_instructions.hpp"

#include <array>
#include <cstdint>

#include "tests/emulator/machine/float16.hpp"
#include "tests/emulator/machine/machine_state.hpp"

namespace cubind::emulator {
namespace {

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

void ldmatrix_x4(WarpLanes& lanes, void* const (&arguments)[32]) {
  unsigned rows[32][4];  // row i % 8 of matrix i / 8: eight 16-bit values
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned address = static_cast<const LdmatrixArguments*>(arguments[i])->address;
    lanes.shared().read(rows[i], address, 16, lanes.observer(i));
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned* value = static_cast<const LdmatrixArguments*>(arguments[lane])->value;
    for (unsigned matrix = 0; matrix < 4; ++matrix) value[matrix] = rows[matrix * 8 + lane / 4][lane % 4];
  }
}

// Lane 4 g + t holds, of matrix j, elements g of rows 2 t and 2 t + 1.
void stmatrix_x4_trans(WarpLanes& lanes, void* const (&arguments)[32]) {
  const auto of = [&](unsigned lane) { return static_cast<const StmatrixArguments*>(arguments[lane]); };
  for (unsigned i = 0; i < 32; ++i) {
    std::uint16_t row[8];
    const unsigned matrix = i / 8, r = i % 8;
    for (unsigned g = 0; g < 8; ++g) {
      row[g] = static_cast<std::uint16_t>(of(4 * g + r / 2)->value[matrix] >> 16 * (r % 2));
    }
    lanes.shared().write(of(i)->address, row, 16, lanes.observer(i));
  }
}

void mma_m16n8k16_f16(WarpLanes&, void* const (&arguments)[32]) {
  mma<2, f16_to_float>(arguments);
}
void mma_m16n8k16_bf16(WarpLanes&, void* const (&arguments)[32]) {
  mma<2, bf16_to_float>(arguments);
}
void mma_m16n8k8_f16(WarpLanes&, void* const (&arguments)[32]) {
  mma<1, f16_to_float>(arguments);
}

void shfl_idx(WarpLanes&, void* const (&arguments)[32]) {
  unsigned values[32];
  for (unsigned i = 0; i < 32; ++i) values[i] = static_cast<const ShflArguments*>(arguments[i])->value;
  for (void* argument : arguments) {
    auto& lane = *static_cast<ShflArguments*>(argument);
    lane.value = values[lane.lane % 32];
  }
}

void elect(WarpLanes& lanes, void* const (&arguments)[32]) {
  for (unsigned i = 0; i < 32; ++i) *static_cast<bool*>(arguments[i]) = i == lanes.machine.elected_lane();
}

namespace {

WgmmaQueue& wgmma_of(WarpLanes& lanes) {
  auto& warp = lanes.warp;
  if (warp.wgmma == nullptr) {
    lanes.shared().track_readers();
    warp.wgmma = std::make_unique<WgmmaQueue>(lanes.block().cluster.next_actor++);
  }
  return *warp.wgmma;
}

}  // namespace

void wgmma_fence(WarpLanes& lanes, void* const (&)[32]) {
  wgmma_of(lanes).fence();
}

void wgmma_issue(WarpLanes& lanes, void* const (&arguments)[32]) {
  WgmmaQueue::Lanes all;
  std::array<const Observer*, 32> observers;
  for (unsigned i = 0; i < 32; ++i) {
    all[i] = *static_cast<const WgmmaArguments*>(arguments[i]);
    observers[i] = &lanes.observer(i);
  }
  wgmma_of(lanes).issue(all, lanes.shared(), observers, lanes.reads_at_once());
}

void wgmma_commit(WarpLanes& lanes, void* const (&)[32]) {
  wgmma_of(lanes).commit();
}

void wgmma_wait(WarpLanes& lanes, void* const (&arguments)[32]) {
  std::array<Observer*, 32> observers;
  for (unsigned i = 0; i < 32; ++i) observers[i] = &lanes.observer(i);
  wgmma_of(lanes).wait(*static_cast<const unsigned*>(arguments[0]), lanes.shared(), observers);
}

}  // namespace cubind::emulator
