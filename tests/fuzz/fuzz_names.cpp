// Names that people write: formats, architectures, types, keys. What is accepted is written the same way again.
#include <string_view>

#include "base/digest.hpp"
#include "protocol/arch.hpp"
#include "protocol/gemm_descriptor.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto descriptor = cubind::descriptor_from_name(text); descriptor.ok()) {
    cubind::fuzz::require(cubind::validate(*descriptor).ok());
    const auto again = cubind::descriptor_from_name(cubind::short_name(*descriptor));
    cubind::fuzz::require(again.ok() && *again == *descriptor);
  }
  if (const auto arch = cubind::arch_from_string(text); arch.ok()) {
    const auto again = cubind::arch_from_string(cubind::to_string(*arch));
    cubind::fuzz::require(again.ok() && *again == *arch);
  }
  static_cast<void>(cubind::dtype_from_string(text));
  return 0;
}
