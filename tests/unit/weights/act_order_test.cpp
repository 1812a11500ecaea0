// Act-order: what is packed is the checkpoint's columns in the order of their groups.
#include "client/weights/act_order.hpp"

#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/weights/reference.hpp"
#include "client/weights/repack.hpp"

namespace cubind {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PackedLayout layout_of(std::uint32_t n, std::uint32_t k, bool zero_points) {
  GemmDescriptor gemm;
  gemm.activation = gemm.output = gemm.weight_scale_type = DType::f16;
  gemm.weight_scale = ScaleKind::group;
  gemm.group_k = 32;
  gemm.zero_point = zero_points ? ZeroPointKind::integer : ZeroPointKind::none;
  return packed_layout(gemm, n, k).value();
}

// A checkpoint as AutoGPTQ writes it with desc_act: random words, g_idx a shuffled k / group.
struct Checkpoint {
  explicit Checkpoint(const PackedLayout& layout) {
    std::mt19937 random(7);
    const std::size_t n = layout.n, k = layout.k, groups = layout.k_groups;
    for (std::size_t i = 0; i < k / 8 * n; ++i) qweight.push_back(static_cast<std::uint32_t>(random()));
    for (std::size_t i = 0; i < groups * n / 8; ++i) qzeros.push_back(static_cast<std::uint32_t>(random()));
    for (std::size_t i = 0; i < groups * n; ++i)
      scales.push_back(static_cast<std::uint16_t>(0x2000 + random() % 0x800));
    for (std::size_t i = 0; i < k; ++i) g_idx.push_back(static_cast<std::int32_t>(i / layout.group_k));
    std::shuffle(g_idx.begin(), g_idx.end(), random);
  }
  GptqTensors tensors() const { return {qweight, qzeros, scales, DType::f16, g_idx, true, order}; }

  // As a reader of the checkpoint has it: s (q - z) of row and k, by g_idx.
  double value(const PackedLayout& layout, std::uint32_t row, std::uint32_t k) const {
    const std::size_t n = layout.n, group = static_cast<std::size_t>(g_idx[k]);
    const int q = static_cast<int>(qweight[k / 8 * n + row] >> (4 * (k % 8)) & 15);
    const int z = static_cast<int>(qzeros[group * (n / 8) + row / 8] >> (4 * (row % 8)) & 15);
    return to_double(DType::f16, scales[group * n + row]) * (q - z);
  }

  std::vector<std::uint32_t> qweight, qzeros;
  std::vector<std::uint16_t> scales;
  std::vector<std::int32_t> g_idx, order;
};

TEST(ActOrder, IsTheIdentityForGroupsInTheirOwnOrder) {
  const auto layout = layout_of(16, 64, true);
  std::vector<std::int32_t> g_idx(64), identity(64);
  std::iota(identity.begin(), identity.end(), 0);
  for (int k = 0; k < 64; ++k) g_idx[static_cast<std::size_t>(k)] = k / 32;
  EXPECT_EQ(act_order(layout, g_idx).value(), identity);
}

TEST(ActOrder, KeepsTheCheckpointsOrderWithinAGroup) {
  const auto layout = layout_of(16, 64, true);
  std::vector<std::int32_t> g_idx(64, 1);
  for (int k = 1; k < 64; k += 2) g_idx[static_cast<std::size_t>(k)] = 0;
  const auto order = act_order(layout, g_idx).value();
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 3), ElementsAre(1, 3, 5));
  EXPECT_THAT(std::vector(order.begin() + 32, order.begin() + 35), ElementsAre(0, 2, 4));
}

TEST(ActOrder, RefusesGroupsThatAreNotThereOrTooLarge) {
  const auto layout = layout_of(16, 64, true);
  std::vector<std::int32_t> g_idx(64, 0);
  EXPECT_THAT(act_order(layout, g_idx).error().message, HasSubstr("g_idx of k 32 is \"0\": a group has 32 k"));
  g_idx[3] = 2;
  EXPECT_THAT(act_order(layout, g_idx).error().message, HasSubstr("g_idx of k 3 is \"2\": there are 2 groups"));
  g_idx[3] = -1;
  EXPECT_EQ(act_order(layout, g_idx).error().code, ErrorCode::invalid_argument);
  g_idx.pop_back();
  EXPECT_EQ(act_order(layout, g_idx).error().code, ErrorCode::invalid_argument);
}

TEST(ActOrder, RepackedWeightsAreTheCheckpointsInThatOrder) {
  const auto layout = layout_of(24, 160, true);
  Checkpoint checkpoint(layout);
  checkpoint.order = act_order(layout, checkpoint.g_idx).value();
  auto packed = allocate(layout);
  const auto status = repack_gptq(layout, checkpoint.tensors(), packed.view());
  ASSERT_TRUE(status.ok()) << to_string(status.error());
  const auto values = dequantize(layout, packed.view()).value();
  for (std::uint32_t row = 0; row < layout.n; ++row) {
    for (std::uint32_t i = 0; i < layout.k; ++i) {
      const auto k = static_cast<std::uint32_t>(checkpoint.order[i]);
      ASSERT_EQ(values[row * layout.k + i], checkpoint.value(layout, row, k)) << row << " " << i;
    }
  }
}

TEST(ActOrder, AnotherOrderThanTheGroupsIsRefused) {
  const auto layout = layout_of(16, 64, true);
  Checkpoint checkpoint(layout);
  checkpoint.order = act_order(layout, checkpoint.g_idx).value();
  std::swap(checkpoint.order[0], checkpoint.order[63]);
  auto packed = allocate(layout);
  EXPECT_THAT(repack_gptq(layout, checkpoint.tensors(), packed.view()).error().message, HasSubstr("k_order of k 0"));
}

}  // namespace
}  // namespace cubind
