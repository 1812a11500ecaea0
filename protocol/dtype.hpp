// Number formats: one enum for the wire, the planner and the device code. No includes: NVRTC sees this file too.
// Values are on the wire and in keys: never renumber.
#pragma once

namespace cubind {

enum class DType : unsigned char {
  none = 0,
  f32 = 1,
  f16 = 2,
  bf16 = 3,
  e5m2 = 4,   // FP8
  e4m3 = 5,   // FP8, finite (FN)
  e3m2 = 6,   // FP6
  e2m3 = 7,   // FP6
  e2m1 = 8,   // FP4
  e1m2 = 9,   // FP4
  e2m2 = 10,  // FP5
  e3m1 = 11,  // FP5
  e1m1 = 12,  // FP3
  e2m0 = 13,  // FP3
  e8m0 = 14,  // power-of-two scales
  e3m3 = 15,  // FP7
  e4m2 = 16,  // FP7
  int1 = 33,
  int2 = 34,
  int3 = 35,
  int4 = 36,
  int5 = 37,
  int6 = 38,
  int7 = 39,
  int8 = 40,
  int32 = 64,
};

// Bits of one value; 0 for none and for numbers that are not listed.
constexpr unsigned bits_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::int32: return 32;
    case DType::f16:
    case DType::bf16: return 16;
    case DType::e5m2:
    case DType::e4m3:
    case DType::e8m0:
    case DType::int8: return 8;
    case DType::e3m3:
    case DType::e4m2:
    case DType::int7: return 7;
    case DType::e3m2:
    case DType::e2m3:
    case DType::int6: return 6;
    case DType::e2m2:
    case DType::e3m1:
    case DType::int5: return 5;
    case DType::e2m1:
    case DType::e1m2:
    case DType::int4: return 4;
    case DType::e1m1:
    case DType::e2m0:
    case DType::int3: return 3;
    case DType::int2: return 2;
    case DType::int1: return 1;
    case DType::none: return 0;
  }
  return 0;
}

constexpr bool is_integer(DType type) {
  return type >= DType::int1 && type <= DType::int32;
}
constexpr bool is_float(DType type) {
  return type >= DType::f32 && type <= DType::e4m2;
}

}  // namespace cubind
