#include "tests/emulator/emulated_kernel.hpp"

#include <utility>

namespace cubind::emulator {
namespace {

template <unsigned... kSlice>
std::vector<EmulatedKernel> join(std::integer_sequence<unsigned, kSlice...>) {
  std::vector<EmulatedKernel> all;
  (all.insert(all.end(), kernel_slice<kSlice>().begin(), kernel_slice<kSlice>().end()), ...);
  return all;
}

}  // namespace

std::vector<EmulatedKernel> emulated_kernels() {
  return join(std::make_integer_sequence<unsigned, CUBIND_SLICES>());
}

}  // namespace cubind::emulator
