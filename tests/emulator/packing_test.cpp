// The project's packing and this folder's say the same: the kernels are tested with the one and run with the other.
#include "tests/emulator/packing.hpp"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "client/weights/pack.hpp"

namespace cubind::emulator {
namespace {

template <class T>
std::vector<T> elements(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Of n x k weights with zero points, by both; what is padding is compared nowhere.
void compare(unsigned n, unsigned k, unsigned group) {
  GemmDescriptor descriptor;
  descriptor.weight_scale = group == 0 ? ScaleKind::channel : ScaleKind::group;
  descriptor.group_k = group;
  descriptor.zero_point = ZeroPointKind::integer;
  const auto layout = packed_layout(descriptor, n, k);
  ASSERT_TRUE(layout.ok());

  std::mt19937 random(n + k);
  std::vector<unsigned char> q(std::size_t{n} * k), zeros(std::size_t{n} * layout->k_groups);
  std::vector<std::uint16_t> scales(zeros.size());
  for (auto& value : q) value = random() & 15;
  for (auto& value : zeros) value = random() & 15;
  for (auto& value : scales) value = static_cast<std::uint16_t>(0x3c00 + (random() & 255));
  PackedWeights packed = allocate(*layout);
  ASSERT_TRUE(pack(*layout, {q, scales, layout->scale_type, zeros}, packed.view()).ok());

  // Which nibbles hold weights: those that stay when all weights are 0 and the padding is not.
  auto ours = elements<std::uint32_t>(packed.weights), mask = ours;
  pack_weights(ours.data(), q, n, k);
  pack_weights(mask.data(), std::vector<unsigned char>(q.size(), 15), n, k);
  auto low = mask;
  pack_weights(low.data(), std::vector<unsigned char>(q.size(), 0), n, k);
  const auto theirs = elements<std::uint32_t>(packed.weights);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::uint32_t weights = mask[i] ^ low[i];
    ASSERT_EQ(theirs[i] & weights, ours[i] & weights) << "word " << i;
  }

  auto our_scales = elements<std::uint16_t>(packed.scales);
  auto our_zeros = elements<unsigned char>(packed.zeros);
  pack_groups(our_scales.data(), scales, layout->k_groups, n);
  pack_groups(our_zeros.data(), zeros, layout->k_groups, n);
  EXPECT_EQ(our_scales, elements<std::uint16_t>(packed.scales));
  EXPECT_EQ(our_zeros, elements<unsigned char>(packed.zeros));
}

TEST(Packing, AgreesWithClientWeights) {
  compare(32, 128, 64);
  compare(1001, 1440, 32);
  compare(40, 72, 0);
}

}  // namespace
}  // namespace cubind::emulator
