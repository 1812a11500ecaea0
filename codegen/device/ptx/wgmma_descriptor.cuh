// The 64-bit descriptor by which wgmma finds an operand in shared memory. K-major, 16-bit elements: a row is a run of
// k, rows of the B operand are its columns n.
//
//   swizzle 128, 64, 32   rows of that many bytes (64, 32, 16 k), eight of them an atom; atoms along n `stride_bytes`
//                         apart, aligned to 8 rows' bytes. 16-byte chunk c of row r lies at chunk c ^ (r / (128 /
//                         swizzle)) % (swizzle / 16): as TMA writes it. The next 16 k: the start address plus 32 bytes.
//   none                  8 x 16-byte matrices of 128 consecutive bytes; `leading_bytes` to the next 8 k,
//   `stride_bytes`
//                         to the next 8 n.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

enum class Swizzle : unsigned { none = 0, bytes_128 = 1, bytes_64 = 2, bytes_32 = 3 };  // as the descriptor spells it

constexpr CUBIND_HD unsigned swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 16 : 256u >> static_cast<unsigned>(swizzle);
}

// All but the address. leading_bytes: only without swizzle.
constexpr CUBIND_HD u64 wgmma_descriptor(Swizzle swizzle, unsigned stride_bytes, unsigned leading_bytes = 16) {
  return static_cast<u64>(leading_bytes / 16) << 16 | static_cast<u64>(stride_bytes / 16) << 32 |
         static_cast<u64>(swizzle) << 62;
}
// `shared`: a multiple of 16 below 256 KB. Steps along k may be added to the result: bytes / 16.
constexpr CUBIND_HD u64 wgmma_descriptor_at(u64 descriptor, unsigned shared) {
  return descriptor | (shared & 0x3ffff) >> 4;
}

}  // namespace cubind::ptx
