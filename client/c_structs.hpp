// Structs that cross the C ABI carry their size: a caller's may be older (shorter) or newer (longer) than ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cubind/cubind.h"

namespace cubind {

// The caller's struct as ours: missing fields are zero; more than we know is accepted if it is zero. Structs have only
// grown since `first_size`, the size in the first release.
template <class T>
Result<T> read_struct(const T* given, const char* name, std::size_t first_size = sizeof(T)) {
  const auto bad = [&](const std::string& value, const char* rule) {
    return Error{ErrorCode::invalid_argument, std::string(name) + value + rule};
  };
  if (given == nullptr) return bad("", " is null");
  const std::size_t size = given->struct_size;
  if (size < first_size) {
    return bad(".struct_size \"" + std::to_string(size) + "\"", " is not sizeof the struct");
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) return bad("", " sets a field that this library does not know");
  }
  T ours{};
  std::memcpy(&ours, given, std::min(size, sizeof(T)));
  ours.struct_size = sizeof(T);
  return ours;
}

// Writes as much of `value` as the caller's struct holds and leaves its struct_size.
template <class T>
Status write_struct(T* given, const T& value, const char* name, std::size_t first_size = sizeof(T)) {
  CUBIND_CHECK(read_struct(given, name, first_size));
  const std::uint32_t size = given->struct_size;
  std::memcpy(given, &value, std::min<std::size_t>(size, sizeof(T)));
  given->struct_size = size;
  return {};
}

template <std::size_t N>
void copy_text(char (&out)[N], std::string_view text) {
  const std::size_t count = std::min(text.size(), N - 1);
  std::memcpy(out, text.data(), count);
  out[count] = '\0';
}

}  // namespace cubind
