// Against the goldens of tests/golden/weights, which a script wrote from the checkpoint writers' side.
#include "client/weights/repack.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/weights/reference.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::uint32_t>;

struct Golden {
  nlohmann::json json;
  PackedLayout layout;
  Words qweight, qzeros;
  std::vector<std::uint16_t> scales;
  std::vector<std::int32_t> g_idx;
};

Words words(const nlohmann::json& values) {
  Words out;
  for (const auto& value : values) out.push_back(static_cast<std::uint32_t>(value.get<std::int32_t>()));
  return out;
}

Golden read(const std::string& name) {
  Golden golden;
  std::ifstream file(std::string(std::getenv("CUBIND_TEST_SOURCE")) + "/tests/golden/weights/" + name + ".json");
  golden.json = nlohmann::json::parse(file);
  const auto& json = golden.json;
  GemmDescriptor descriptor;
  const DType type = json["type"] == "f16" ? DType::f16 : DType::bf16;
  descriptor.activation = descriptor.output = descriptor.weight_scale_type = type;
  descriptor.group_k = json["group_k"];
  descriptor.weight_scale = descriptor.group_k == 0 ? ScaleKind::channel : ScaleKind::group;
  descriptor.zero_point = json["zero_points"] ? ZeroPointKind::integer : ZeroPointKind::none;
  golden.layout = packed_layout(descriptor, json["n"], json["k"]).value();
  golden.qweight = words(json["qweight"]);
  golden.qzeros = words(json["qzeros"]);
  golden.scales = json["scales"].get<std::vector<std::uint16_t>>();
  golden.g_idx = json["g_idx"].get<std::vector<std::int32_t>>();
  return golden;
}

Status repack(const Golden& golden, const PackedView& out) {
  if (golden.json["kind"] == "awq") {
    return repack_awq(golden.layout, {golden.qweight, golden.qzeros, golden.scales, DType::f16}, out);
  }
  return repack_gptq(golden.layout,
                     {golden.qweight, golden.qzeros, golden.scales, DType::f16, golden.g_idx, golden.json["v2"]}, out);
}

std::string hex(ByteView bytes) {
  std::string out;
  for (const auto byte : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
  }
  return out;
}

class Goldens : public ::testing::TestWithParam<const char*> {};

TEST_P(Goldens, RepackGivesTheKernelsBytesAndTheCheckpointsValues) {
  const auto golden = read(GetParam());
  auto packed = allocate(golden.layout);
  const auto status = repack(golden, packed.view());
  ASSERT_TRUE(status.ok()) << to_string(status.error());

  EXPECT_EQ(hex(packed.weights), golden.json["packed_weights"]);
  const auto scales = golden.json["packed_scales"].get<std::vector<std::uint16_t>>();
  ASSERT_EQ(packed.scales.size(), 2 * scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    ASSERT_EQ(load_le<std::uint16_t>(packed.scales.data() + 2 * i), scales[i]) << i;
  }
  const auto zeros = golden.json["packed_zeros"].get<std::vector<std::uint8_t>>();
  ASSERT_EQ(packed.zeros.size(), zeros.size());
  for (std::size_t i = 0; i < zeros.size(); ++i) ASSERT_EQ(static_cast<std::uint8_t>(packed.zeros[i]), zeros[i]) << i;

  const auto values = dequantize(golden.layout, packed.view());
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, golden.json["values"].get<std::vector<double>>());
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Goldens,
                         ::testing::Values("awq_zero_points_tails", "awq_zero_points_f16", "gptq_symmetric_tails",
                                           "gptq_zero_points_borrow", "gptq_v2_zero_points", "gptq_per_channel_tails"));

// 0x11111111 is subtracted from the word: a 0 is stored as 15 and its neighbour as one less than usual. In the last
// column of a word the borrow is lost, and must not come back as one.
TEST(RepackGptq, AStoredZeroPointOf15IsZeroAndItsNeighboursAreWhatTheyWere) {
  auto golden = read("gptq_zero_points_borrow");
  ASSERT_EQ(golden.layout.n, 16u);
  const std::uint32_t zeros[] = {0x0f980010, 0x80000008};  // of group 0, column 0 in the lowest four bits
  for (int word = 0; word < 2; ++word) golden.qzeros[word] = zeros[word] - 0x11111111u;
  auto packed = allocate(golden.layout);
  ASSERT_TRUE(repack(golden, packed.view()).ok());
  for (std::uint32_t row = 0; row < 16; ++row) {
    const auto at = 2 * (row % 8) + row / 8;  // group 0 of the first panel: rows g and g + 8 side by side
    EXPECT_EQ(static_cast<std::uint32_t>(packed.zeros[at]), zeros[row / 8] >> (4 * (row % 8)) & 15) << row;
  }
}

TEST(RepackGptq, SymmetricNeedsNoZeroPoints) {
  auto golden = read("gptq_symmetric_tails");
  auto packed = allocate(golden.layout);
  golden.qzeros.clear();
  golden.g_idx.clear();
  ASSERT_TRUE(repack(golden, packed.view()).ok());
  EXPECT_EQ(hex(packed.weights), golden.json["packed_weights"]);
}

TEST(RepackGptq, SymmetricRefusesAZeroPointOtherThan8) {
  auto golden = read("gptq_symmetric_tails");
  auto packed = allocate(golden.layout);
  golden.qzeros[3] = 0x77777767;  // group 1, columns 0 to 7, the second: stored 6 is 7
  const auto status = repack(golden, packed.view());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "zero point of row 1, group 1 is \"7\": a symmetric layer's is 8 everywhere");
}

TEST(RepackGptq, RefusesActOrder) {
  auto golden = read("gptq_symmetric_tails");
  auto packed = allocate(golden.layout);
  std::swap(golden.g_idx[0], golden.g_idx[95]);
  const auto status = repack(golden, packed.view());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::not_supported);
  EXPECT_THAT(status.error().message, HasSubstr("g_idx of k 0 is \"2\""));
  EXPECT_THAT(status.error().message, HasSubstr("act-order"));
}

TEST(RepackGptq, RefusesTensorsOfAnotherShape) {
  auto golden = read("gptq_symmetric_tails");
  auto packed = allocate(golden.layout);
  golden.qweight.pop_back();
  EXPECT_THAT(repack(golden, packed.view()).error().message,
              HasSubstr("qweight has \"287\" elements: the shape needs 288"));
}

TEST(RepackAwq, RefusesAnNThatItsWordsCannotHold) {
  auto golden = read("awq_zero_points_tails");
  golden.layout = packed_layout(
                      [] {
                        GemmDescriptor descriptor;
                        descriptor.group_k = 32;
                        descriptor.zero_point = ZeroPointKind::integer;
                        return descriptor;
                      }(),
                      23, 96)
                      .value();
  auto packed = allocate(golden.layout);
  EXPECT_THAT(repack(golden, packed.view()).error().message, HasSubstr("n \"23\" is not a multiple of 8"));
}

TEST(RepackAwq, MissingZeroPointsAreNamed) {
  auto golden = read("awq_zero_points_f16");
  auto packed = allocate(golden.layout);
  golden.qzeros.clear();
  EXPECT_THAT(repack(golden, packed.view()).error().message, HasSubstr("qzeros has \"0\" elements"));
}

}  // namespace
}  // namespace cubind
