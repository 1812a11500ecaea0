// What the fuzz targets share. A target reads any bytes; what it finds is a crash, a sanitizer's report, or a require()
// that does not hold. Built by clang with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer (scripts/fuzz.sh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/bytes.hpp"

namespace cubind::fuzz {

inline ByteView view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace cubind::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
