// From a compiler's output to an artifact: reads the cubin's ELF, checks that it holds exactly one entry kEntryName for
// the asked arch, cross-checks registers, shared memory and threads with the config, and fills KernelInfo.
#pragma once

#include "base/result.hpp"
#include "codegen/cache_key.hpp"
#include "codegen/compiler.hpp"
#include "protocol/artifact.hpp"

namespace cubind {

// internal if the cubin does not hold what was asked for (the message says what differs).
Result<Artifact> make_artifact(const CompileUnit& unit, const GemmDescriptor& descriptor, const GemmConfig& config,
                               CompileOutput output);

}  // namespace cubind
