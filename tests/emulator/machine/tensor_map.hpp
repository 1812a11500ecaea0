// What cuTensorMapEncodeTiled makes of a tensor, in the emulator's own 128 bytes, and the box that a tensor copy moves.
// The driver's rules are checked when the map is made, the instruction's when it is used.
#pragma once

#include <cstdint>
#include <vector>

namespace cubind::emulator {

struct TensorMapSpec {
  void* address = nullptr;            // 16-byte aligned
  unsigned element_bytes = 2;         // 1, 2, 4
  unsigned rank = 2;                  // 1 to 3
  std::uint64_t size[3] = {1, 1, 1};  // elements, innermost first
  std::uint64_t stride[2] = {};       // bytes from one row, one plane to the next: multiples of 16
  unsigned box[3] = {1, 1, 1};        // elements, at most 256
  unsigned swizzle_bytes = 0;         // 0, 32, 64, 128
};

struct alignas(64) TensorMap {
  std::uint64_t words[16];
};

// Throws std::runtime_error naming the rule that the spec breaks.
TensorMap encode_tensor_map(const TensorMapSpec& spec);

// One 16-byte chunk of a box: its place in shared memory, and how many of its bytes exist in the tensor (from `global`
// on; the rest is zeros, and is not stored). Chunks that do not exist at all have a null address.
struct BoxChunk {
  unsigned shared;
  char* global;
  unsigned bytes;
};

// The box at the (signed) coordinates, for a copy to or from `shared`. Throws if the map is none, has another rank, or
// the address is not aligned for it.
std::vector<BoxChunk> box_chunks(const void* map, unsigned rank, const int (&coordinates)[3], unsigned shared);

}  // namespace cubind::emulator
