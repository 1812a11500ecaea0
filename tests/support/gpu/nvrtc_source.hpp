// NVRTC for the test's own kernels (reference, comparison): opened at run time, since the machine with the GPU is not
// the one that builds. Looks at $CUBIND_NVRTC (a file), beside the program in ../lib, where the loader looks, and in
// the usual folders of a toolkit.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "protocol/arch.hpp"

namespace cubind::test {

// The cubin of one translation unit that includes nothing. unavailable if there is no NVRTC, compile_failed with its
// log.
Result<Bytes> compile_cuda(const std::string& source, Arch arch);

}  // namespace cubind::test
