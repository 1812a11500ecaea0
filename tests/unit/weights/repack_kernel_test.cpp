// Every thread of the GPU's repack kernel, run here: the bytes of the CPU's repack.
#include "client/weights/repack_kernel.cuh"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "client/weights/act_order.hpp"
#include "client/weights/half.hpp"
#include "client/weights/repack.hpp"
#include "client/weights/repack_ptx.hpp"
#include "client/weights/tile_writer.hpp"

namespace cubind {
namespace {

struct Case {
  bool awq, zero_points, v2, act_order;
  DType given, packed;
  std::uint32_t n, k, group_k;  // group_k 0: per channel
};

PackedLayout layout_of(const Case& c) {
  GemmDescriptor gemm;
  gemm.activation = gemm.output = gemm.weight_scale_type = c.packed;
  gemm.group_k = c.group_k;
  gemm.weight_scale = c.group_k == 0 ? ScaleKind::channel : ScaleKind::group;
  gemm.zero_point = c.zero_points ? ZeroPointKind::integer : ZeroPointKind::none;
  return packed_layout(gemm, c.n, c.k).value();
}

struct Tensors {
  Tensors(const Case& c, const PackedLayout& layout) {
    std::mt19937 random(c.n + c.k);
    const std::size_t n = c.n, k = c.k, groups = layout.k_groups;
    for (std::size_t i = 0; i < k * n / 8; ++i) qweight.push_back(static_cast<std::uint32_t>(random()));
    for (std::size_t i = 0; i < groups * n / 8 && c.zero_points; ++i) {
      qzeros.push_back(static_cast<std::uint32_t>(random()));
    }
    for (std::size_t i = 0; i < groups * n; ++i) {
      scales.push_back(from_double(c.given, 0.001 + static_cast<double>(random() % 1000) / 999));
    }
    for (std::size_t i = 0; i < k; ++i) g_idx.push_back(static_cast<std::int32_t>(i / layout.group_k));
    if (c.act_order) {
      std::shuffle(g_idx.begin(), g_idx.end(), random);
      order = act_order(layout, g_idx).value();
    }
  }
  std::vector<std::uint32_t> qweight, qzeros;
  std::vector<std::uint16_t> scales;
  std::vector<std::int32_t> g_idx, order;
};

Status on_cpu(const Case& c, const PackedLayout& layout, const Tensors& t, const PackedView& out) {
  if (c.awq) return repack_awq(layout, {t.qweight, t.qzeros, t.scales, c.given}, out);
  return repack_gptq(layout, {t.qweight, t.qzeros, t.scales, c.given, t.g_idx, c.v2, t.order}, out);
}

// The kernel's threads, one after the other. Returns the fault.
unsigned by_kernel(const Case& c, const PackedLayout& layout, const Tensors& t, PackedWeights& out) {
  unsigned fault = 0;
  std::vector<unsigned> words(layout.weight_bytes / 4);
  std::vector<unsigned short> scales(layout.scale_bytes / 2);
  repack::Params p{};
  p.qweight = t.qweight.data();
  p.qzeros = t.qzeros.empty() ? nullptr : t.qzeros.data();
  p.scales = t.scales.data();
  p.k_order = t.order.empty() ? nullptr : t.order.data();
  p.weights = words.data();
  p.packed_scales = scales.data();
  p.packed_zeros = layout.zero_points ? reinterpret_cast<unsigned char*>(out.zeros.data()) : nullptr;
  p.fault = &fault;
  p.n = layout.n;
  p.k = layout.k;
  p.n_tiles = layout.n_tiles;
  p.k_tiles = layout.k_tiles;
  p.k_groups = layout.k_groups;
  p.awq = c.awq ? 1 : 0;
  p.stored_less = c.awq || c.v2 ? 0 : 0x11111111u;
  p.scales_bf16 = c.given == DType::bf16 ? 1 : 0;
  p.packed_bf16 = c.packed == DType::bf16 ? 1 : 0;
  for (std::uint32_t n_tile = 0; n_tile < p.n_tiles; ++n_tile) {
    for (std::uint32_t k_tile = 0; k_tile < p.k_tiles; ++k_tile) {
      for (std::uint32_t i = 0; i < 128; ++i) {
        words[(std::size_t{n_tile} * p.k_tiles + k_tile) * 128 + i] = packed_word(p, n_tile, k_tile, i / 4, i % 4);
      }
    }
  }
  for (std::size_t i = 0; i < std::size_t{p.n_tiles} * p.k_groups * 16; ++i) pack_group_entry(p, i);
  for (std::size_t i = 0; i < words.size(); ++i) store_le<std::uint32_t>(out.weights.data() + 4 * i, words[i]);
  for (std::size_t i = 0; i < scales.size(); ++i) store_le<std::uint16_t>(out.scales.data() + 2 * i, scales[i]);
  return fault;
}

class Kernel : public ::testing::TestWithParam<Case> {};

TEST_P(Kernel, GivesTheBytesOfTheCpu) {
  const Case& c = GetParam();
  const auto layout = layout_of(c);
  const Tensors tensors(c, layout);
  auto expected = allocate(layout), got = allocate(layout);
  const auto status = on_cpu(c, layout, tensors, expected.view());
  ASSERT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_EQ(by_kernel(c, layout, tensors, got), 0u);
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.scales, expected.scales);
  EXPECT_EQ(got.zeros, expected.zeros);
}

constexpr DType kF16 = DType::f16, kBf16 = DType::bf16;
INSTANTIATE_TEST_SUITE_P(Checkpoints, Kernel,
                         ::testing::Values(Case{true, true, false, false, kF16, kBf16, 40, 160, 32},
                                           Case{true, false, false, false, kF16, kF16, 16, 128, 128},
                                           Case{true, true, false, false, kBf16, kF16, 24, 96, 0},
                                           Case{false, true, false, false, kF16, kBf16, 40, 160, 32},
                                           Case{false, true, true, false, kF16, kF16, 24, 72, 0},
                                           Case{false, false, false, false, kBf16, kBf16, 32, 64, 64},
                                           Case{false, true, false, true, kF16, kBf16, 24, 160, 32},
                                           Case{false, false, true, true, kF16, kF16, 16, 256, 128}));

TEST(RepackKernel, ConvertsEveryScaleAsTheCpuDoes) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto given = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(repack::finite(bits, false), is_finite(kF16, given)) << bits;
    ASSERT_EQ(repack::finite(bits, true), is_finite(kBf16, given)) << bits;
    if (is_finite(kF16, given)) {
      ASSERT_EQ(repack::f16_to_bf16(bits), from_double(kBf16, to_double(kF16, given))) << bits;
    }
    if (is_finite(kBf16, given)) {
      ASSERT_EQ(repack::bf16_to_f16(bits), from_double(kF16, to_double(kBf16, given))) << bits;
    }
  }
}

TEST(RepackKernel, ReportsWhatTheCpuRefuses) {
  Case c{false, false, true, false, kBf16, kF16, 16, 64, 32};
  const auto layout = layout_of(c);
  Tensors tensors(c, layout);
  tensors.qzeros.assign(layout.k_groups * 2, 0x88888888u);
  auto packed = allocate(layout);
  EXPECT_EQ(by_kernel(c, layout, tensors, packed), 0u);
  tensors.qzeros[1] = 0x88878888u;
  EXPECT_EQ(by_kernel(c, layout, tensors, packed), unsigned{repack::kFaultZeroPoint});
  EXPECT_FALSE(on_cpu(c, layout, tensors, packed.view()).ok());
  tensors.qzeros[1] = 0x88888888u;
  for (const std::uint16_t scale : {0x4780, 0x7f80, 0xffff}) {  // 65536, infinite, NaN
    tensors.scales[5] = scale;
    EXPECT_EQ(by_kernel(c, layout, tensors, packed), unsigned{repack::kFaultScale}) << scale;
    EXPECT_FALSE(on_cpu(c, layout, tensors, packed.view()).ok());
  }
}

TEST(RepackKernel, ItsPtxIsForTheOldestGpuAndDriver) {
  const std::string ptx = kRepackPtx;
  EXPECT_EQ(ptx.substr(0, 13), ".version 7.0\n");
  EXPECT_NE(ptx.find(".target sm_75\n"), std::string::npos);
  EXPECT_NE(ptx.find(".visible .entry cubind_repack("), std::string::npos);
}

}  // namespace
}  // namespace cubind
