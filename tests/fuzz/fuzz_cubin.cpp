// The ELF reader and the facts of a cubin.
#include "codegen/cubin/cubin_reader.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(cubind::read_cubin(cubind::fuzz::view(data, size)));
  return 0;
}
