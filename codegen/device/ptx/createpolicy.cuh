// createpolicy: how L2 is to treat what a copy reads (sm_80).
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

// Read once: first to go.
CUBIND_DEVICE u64 createpolicy_evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
// Read by many blocks: last to go.
CUBIND_DEVICE u64 createpolicy_evict_last() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

}  // namespace cubind::ptx
