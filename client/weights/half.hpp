// f16 and bf16 numbers as their 16 bits. Integer arithmetic only: libcubind.so may not need libm. Pure.
#pragma once

#include <cstdint>

#include "protocol/dtype.hpp"

namespace cubind {

// Precondition of all: type is f16 or bf16.
double to_double(DType type, std::uint16_t bits);  // exact

// Rounded to nearest even; what is too large becomes infinity, as in the hardware's conversion.
std::uint16_t from_double(DType type, double value);

bool is_finite(DType type, std::uint16_t bits);

}  // namespace cubind
