#include "tests/emulator/machine/tensor_map.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cubind::emulator {
namespace {

constexpr std::uint64_t kMagic = 0x70616d20726f736e;
constexpr unsigned kChunk = 16;

struct Encoded {
  std::uint64_t magic;
  TensorMapSpec spec;
};
static_assert(sizeof(Encoded) <= sizeof(TensorMap));

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("tensor map: " + what);
}

void demand(bool holds, const char* rule, std::uint64_t value) {
  if (!holds) fail(std::string(rule) + ", not " + std::to_string(value));
}

unsigned box_row_bytes(const TensorMapSpec& spec) {
  return spec.box[0] * spec.element_bytes;
}

}  // namespace

TensorMap encode_tensor_map(const TensorMapSpec& spec) {
  const auto address = reinterpret_cast<std::uintptr_t>(spec.address);
  demand(address % 16 == 0 && address != 0, "the address must be a multiple of 16", address);
  demand(spec.element_bytes == 1 || spec.element_bytes == 2 || spec.element_bytes == 4, "elements have 1, 2 or 4 bytes",
         spec.element_bytes);
  demand(spec.rank >= 1 && spec.rank <= 3, "the rank must be 1 to 3", spec.rank);
  for (unsigned d = 0; d < spec.rank; ++d) {
    demand(spec.size[d] >= 1 && spec.size[d] <= 1ull << 32, "sizes must be 1 to 2^32", spec.size[d]);
    demand(spec.box[d] >= 1 && spec.box[d] <= 256, "box sizes must be 1 to 256", spec.box[d]);
  }
  for (unsigned d = 0; d + 1 < spec.rank; ++d) {
    demand(spec.stride[d] % 16 == 0 && spec.stride[d] < 1ull << 40, "strides must be multiples of 16 below 2^40",
           spec.stride[d]);
  }
  const unsigned row = box_row_bytes(spec), swizzle = spec.swizzle_bytes;
  demand(row % kChunk == 0, "a row of the box must be a multiple of 16 bytes", row);
  demand(swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128, "swizzles have 0, 32, 64 or 128 bytes",
         swizzle);
  // Shorter rows are legal too, but nobody needs them.
  demand(swizzle == 0 || row == swizzle, "a row of the box must be as long as the swizzle", row);
  TensorMap map{};
  const Encoded encoded{kMagic, spec};
  std::memcpy(&map, &encoded, sizeof(encoded));
  return map;
}

std::vector<BoxChunk> box_chunks(const void* map, unsigned rank, const int (&coordinates)[3], unsigned shared) {
  Encoded encoded;
  std::memcpy(&encoded, map, sizeof(encoded));
  if (encoded.magic != kMagic) fail("none at the address that a tensor copy names");
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) fail("must be 64-byte aligned");
  const auto& spec = encoded.spec;
  if (spec.rank != rank) fail("rank " + std::to_string(spec.rank) + " used by a copy of " + std::to_string(rank));
  if (shared % 128 != 0) fail("the box's shared address must be a multiple of 128");

  const unsigned row = box_row_bytes(spec);
  std::vector<BoxChunk> chunks;
  unsigned offset = 0;  // dense: the position before the swizzle
  for (unsigned z = 0; z < spec.box[2]; ++z) {
    for (unsigned y = 0; y < spec.box[1]; ++y) {
      const std::int64_t at_y = coordinates[1] + static_cast<std::int64_t>(y);
      const std::int64_t at_z = coordinates[2] + static_cast<std::int64_t>(z);
      const bool row_exists = at_y >= 0 && at_y < static_cast<std::int64_t>(spec.size[1]) && at_z >= 0 &&
                              at_z < static_cast<std::int64_t>(spec.size[2]);
      for (unsigned x = 0; x < row; x += kChunk, offset += kChunk) {
        unsigned place = shared + offset;
        // Rows of the pattern are 128 bytes; the number of such a row, of eight, is added into the chunk's bits.
        if (spec.swizzle_bytes != 0) place ^= place >> 3 & (spec.swizzle_bytes - kChunk);
        const std::int64_t first = coordinates[0] + static_cast<std::int64_t>(x / spec.element_bytes);
        const std::int64_t left = static_cast<std::int64_t>(spec.size[0]) - first;
        const std::int64_t elements = std::min<std::int64_t>(left, kChunk / spec.element_bytes);
        if (first < 0 && first > -static_cast<std::int64_t>(kChunk / spec.element_bytes)) {
          fail("negative coordinates inside a chunk are not emulated");
        }
        if (!row_exists || first < 0 || elements <= 0) {
          chunks.push_back({place, nullptr, 0});
          continue;
        }
        char* global = static_cast<char*>(spec.address) + static_cast<std::uint64_t>(at_z) * spec.stride[1] +
                       static_cast<std::uint64_t>(at_y) * spec.stride[0] +
                       static_cast<std::uint64_t>(first) * spec.element_bytes;
        chunks.push_back({place, global, static_cast<unsigned>(elements) * spec.element_bytes});
      }
    }
  }
  return chunks;
}

}  // namespace cubind::emulator
