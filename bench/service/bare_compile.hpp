// The yardstick of compile times: a program with nothing around NVRTC, started for one unit, alone. Like a zygote it
// has compiled something small before.
#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "bench/service/programs.hpp"
#include "codegen/compiler.hpp"
#include "codegen/nvrtc/toolchain.hpp"

namespace cubind::bench {

struct BareCompile {
  double ms = 0;  // of the unit, from its source to its cubin
  Bytes cubin;
};

Result<BareCompile> compile_bare(const Programs& programs, const Toolchain& toolchain, const CompileUnit& unit);

}  // namespace cubind::bench
