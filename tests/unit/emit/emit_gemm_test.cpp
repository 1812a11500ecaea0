#include "codegen/emit/emit_gemm.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

#include "codegen/emit/source_writer.hpp"
#include "codegen/emit/spelling.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// UPDATE_GOLDEN=1 writes the file instead: look at the diff before committing it.
void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::string(CUBIND_SOURCE_DIR "/tests/golden/emit/") + name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(read_file(path), text) << path;
}

TEST(EmitGemm, UnitsAreTheGoldenOnes) {
  // Every field is given: the defaults may change, these may not.
  GemmConfig c{.activation = DType::bf16,
               .weight_bits = 4,
               .zero_points = false,
               .scale_class = ScaleClass::g64_plus,
               .mma = MmaKind::mma_m16n8k16,
               .async_copy = true,
               .tile_m = 8,
               .tile_n = 64,
               .tile_k = 256,
               .stages = 5,
               .warps_m = 1,
               .warps_n = 2,
               .warps_k = 4};
  expect_golden("bf16_decode.cu", emit_gemm(c));
  c.activation = DType::f16;
  c.zero_points = true;
  c.scale_class = ScaleClass::g32;
  c.tile_m = 256, c.tile_n = 128, c.tile_k = 64, c.stages = 4;
  c.warps_m = 4, c.warps_n = 2, c.warps_k = 1;
  expect_golden("f16_zero_points_g32.cu", emit_gemm(c));
  c.mma = MmaKind::mma_m16n8k8;
  c.async_copy = false;
  c.tile_m = 128, c.tile_n = 64, c.stages = 2, c.warps_m = 2;
  expect_golden("sm75.cu", emit_gemm(c));
}

// One row a field: a field that the emitter forgets leaves the text as it was.
TEST(EmitGemm, NamesEveryFieldOfTheConfig) {
  const GemmConfig base;
  std::vector<GemmConfig> changed(14, base);
  changed[0].activation = DType::f16;
  changed[1].weight_bits = 8;
  changed[2].zero_points = !base.zero_points;
  changed[3].scale_class = ScaleClass::g32;
  changed[4].mma = MmaKind::mma_m16n8k8;
  changed[5].async_copy = !base.async_copy;
  changed[6].tile_m = 248;
  changed[7].tile_n = 248;
  changed[8].tile_k = 248;
  changed[9].stages = 7;
  changed[10].warps_m = 7;
  changed[11].warps_n = 7;
  changed[12].warps_k = 7;
  changed[13].kernel = GemmKernel::wgmma;
  std::set<std::string> texts{emit_gemm(base)};
  for (const auto& config : changed) EXPECT_TRUE(texts.insert(emit_gemm(config)).second) << emit_gemm(config);

  // and every field is in the list above: the struct has no more members than this binding names
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = base;
  static_cast<void>(std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n));
}

TEST(EmitGemm, DistinctConfigsOfACatalogueHaveDistinctText) {
  std::set<std::string> texts;
  std::size_t configs = 0;
  for (const auto arch : code_archs()) {
    for (const char* name : {"w4a16-f16-g32", "w4a16-f16-g128", "w4a16-f16-ch-zp"}) {
      const auto all = catalogue(*descriptor_from_name(name), arch);
      ASSERT_TRUE(all.ok());
      if (arch.number != 80) continue;  // others repeat its configs
      for (const auto& config : *all) texts.insert(emit_gemm(config));
      configs += all->size();
    }
  }
  EXPECT_EQ(texts.size(), configs);
}

TEST(Spelling, EveryEnumeratorOfTheConfigHasACppNameAndAShortOne) {
  EXPECT_EQ(cpp_spelling(ScaleClass::g32), "cubind::ScaleClass::g32");
  EXPECT_EQ(cpp_spelling(ScaleClass::g64_plus), "cubind::ScaleClass::g64_plus");
  EXPECT_EQ(short_spelling(ScaleClass::g32), "g32");
  EXPECT_EQ(short_spelling(ScaleClass::g64_plus), "g64");
  EXPECT_EQ(cpp_spelling(MmaKind::mma_m16n8k8), "cubind::MmaKind::mma_m16n8k8");
  EXPECT_EQ(cpp_spelling(MmaKind::mma_m16n8k16), "cubind::MmaKind::mma_m16n8k16");
  EXPECT_EQ(cpp_spelling(MmaKind::wgmma_m64k16), "cubind::MmaKind::wgmma_m64k16");
  EXPECT_EQ(short_spelling(MmaKind::wgmma_m64k16), "m64k16");
  EXPECT_EQ(cpp_spelling(GemmKernel::mma_sync), "cubind::GemmKernel::mma_sync");
  EXPECT_EQ(cpp_spelling(GemmKernel::wgmma), "cubind::GemmKernel::wgmma");
  EXPECT_EQ(short_spelling(GemmKernel::mma_sync), "");
  EXPECT_EQ(short_spelling(GemmKernel::wgmma), "wgmma_");
  EXPECT_EQ(short_spelling(MmaKind::mma_m16n8k8), "m16n8k8");
  EXPECT_EQ(short_spelling(MmaKind::mma_m16n8k16), "m16n8k16");
}

// The enumerators as the header has them, so that a new one cannot be forgotten in the table.
TEST(Spelling, EveryDTypeInTheHeaderIsSpelledAsThere) {
  const auto header = read_file(CUBIND_SOURCE_DIR "/protocol/dtype.hpp");
  std::istringstream lines(header.substr(header.find("enum class DType")));
  int seen = 0;
  for (std::string line; std::getline(lines, line) && line != "};";) {
    const auto equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    const auto name = line.substr(line.find_first_not_of(' '), equals - line.find_first_not_of(' '));
    const auto value = static_cast<DType>(std::stoi(line.substr(equals + 3)));
    EXPECT_EQ(cpp_spelling(value), "cubind::DType::" + name);
    const auto parsed = dtype_from_string(name);
    ASSERT_TRUE(parsed.ok()) << name;
    EXPECT_EQ(*parsed, value);
    ++seen;
  }
  EXPECT_EQ(seen, 26);
}

TEST(SourceWriter, IndentsByTwoSpacesALevel) {
  SourceWriter w;
  w.line("a {");
  w.indent(1);
  w.line({"b", " = ", "1;"});
  w.blank();
  w.indent(-1);
  w.line("}");
  EXPECT_EQ(std::move(w).take(), "a {\n  b = 1;\n\n}\n");
}

}  // namespace
}  // namespace cubind
