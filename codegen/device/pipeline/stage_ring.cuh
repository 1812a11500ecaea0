// The ring of stages as each of its users walks it: which stage is next and the parity of its phase. Each stage has two
// mbarriers:
//
//   full    completes when everything that the producers copy into the stage is there
//   empty   completes when every warp that multiplies has done with it
#pragma once

#include "codegen/device/ptx/mbarrier.cuh"

namespace cubind {

template <unsigned kStages>
class StageRing {
 public:
  CUBIND_DEVICE explicit StageRing(unsigned barriers) : barriers_(barriers) {}

  CUBIND_DEVICE unsigned stage() const { return stage_; }
  CUBIND_DEVICE unsigned full() const { return barriers_ + stage_ * 16; }
  CUBIND_DEVICE unsigned empty() const { return full() + 8; }

  CUBIND_DEVICE void wait_full() const { ptx::mbarrier_wait_parity(full(), parity_); }
  // Passes at once in the first round: the phase before a fresh barrier's first counts as complete.
  CUBIND_DEVICE void wait_empty() const { ptx::mbarrier_wait_parity(empty(), parity_ ^ 1); }

  CUBIND_DEVICE void advance() {
    if (++stage_ == kStages) {
      stage_ = 0;
      parity_ ^= 1;
    }
  }

 private:
  unsigned barriers_, stage_ = 0, parity_ = 0;
};

}  // namespace cubind
