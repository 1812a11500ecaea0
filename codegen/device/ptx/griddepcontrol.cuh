// griddepcontrol: programmatic dependent launch (sm_90). Neither does anything in a launch without that attribute.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

// Until the kernels before this one are complete and what they wrote is visible. Before it: only what they do not write
// may be read, and nothing that they use may be written.
CUBIND_DEVICE void griddepcontrol_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
// The next kernel may start once every block has said so or ended.
CUBIND_DEVICE void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace cubind::ptx
