// The repack kernel (repack_kernel.cuh) as PTX, which the driver compiles for the device at hand: entry cubind_repack,
// one parameter, repack::Params. It is no kernel of the daemon's, because it depends on nothing that a request names
// and runs once in a layer's life.
#pragma once

namespace cubind {

extern const char kRepackPtx[];

}  // namespace cubind
