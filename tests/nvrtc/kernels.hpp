// Every kernel there is: each served descriptor class on each target, with every config of its catalogue. And the
// compiles that tests make of them, on all processors: the front end of NVRTC is behind one lock in a process, so the
// work is spread over forked children.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/cache_key.hpp"
#include "codegen/compiler.hpp"
#include "codegen/nvrtc/toolchain.hpp"

namespace cubind {

struct KernelCase {
  GemmDescriptor descriptor;
  GemmConfig config;
  Arch arch;
  std::string name;  // "sm_80 w4a16-bf16-g64-..."
};

std::vector<KernelCase> all_kernels();

// A subset in which every pair of (target, data type, zero points, scale class, place in the catalogue) that occurs in
// all kernels occurs. Always the same for the same kernels.
std::vector<KernelCase> pairwise(const std::vector<KernelCase>& kernels);

const Toolchain& test_toolchain();  // the newest one of this machine; ends the program if there is none
bool full_run();                    // CUBIND_FULL=1

// Compiles here, in this process.
CompileResult compile(const std::string& source,
                      const std::vector<std::pair<std::string_view, std::string_view>>& headers,
                      const std::vector<std::string>& options);

// Calls work(i) for i in [0, count) in as many processes as there are processors; what it returns comes back in order.
// A process that dies leaves "died" for the rest of its part.
std::vector<std::string> on_all_processors(std::size_t count, const std::function<std::string(std::size_t)>& work);

}  // namespace cubind
