#include "codegen/emit/emit_gemm.hpp"

#include "codegen/emit/source_writer.hpp"
#include "codegen/emit/spelling.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind {
namespace {

std::string spelled(unsigned value) {
  return std::to_string(value);
}
std::string spelled(bool value) {
  return value ? "true" : "false";
}
template <class Enum>
std::string spelled(Enum value) {
  return cpp_spelling(value);
}

}  // namespace

// Every field of GemmConfig, in its order: a field that is missing here would silently take its default. The golden
// test and EmitGemm.NamesEveryFieldOfTheConfig hold this to the struct.
std::string emit_gemm(const GemmConfig& c) {
  const std::string function = "gemm_" + kernel_spelling(c.kernel);
  const std::string params = c.kernel == GemmKernel::wgmma ? "MappedGemmParams" : "GemmParams";
  SourceWriter w;
  w.line({"#include \"codegen/device/kernel/", function, ".cuh\""});
  w.blank();
  w.line("constexpr cubind::GemmConfig kConfig{");
  w.indent(2);
  w.line({".kernel = ", spelled(c.kernel), ","});
  w.line({".activation = ", spelled(c.activation), ","});
  w.line({".weight_bits = ", spelled(c.weight_bits), ","});
  w.line({".zero_points = ", spelled(c.zero_points), ","});
  w.line({".scale_class = ", spelled(c.scale_class), ","});
  w.line({".mma = ", spelled(c.mma), ","});
  w.line({".async_copy = ", spelled(c.async_copy), ","});
  w.line({".tile_m = ", spelled(c.tile_m), ", .tile_n = ", spelled(c.tile_n), ", .tile_k = ", spelled(c.tile_k), ","});
  w.line({".stages = ", spelled(c.stages), ","});
  w.line({".warps_m = ", spelled(c.warps_m), ", .warps_n = ", spelled(c.warps_n), ", .warps_k = ", spelled(c.warps_k),
          ","});
  w.indent(-2);
  w.line("};");
  w.blank();
  w.line("extern \"C\" __global__ __launch_bounds__(kConfig.threads(), kConfig.min_blocks())");
  w.line({"void ", kEntryName, "(const __grid_constant__ cubind::", params, " params) {"});
  w.indent(1);
  w.line({"cubind::", function, "<kConfig>(params);"});
  w.indent(-1);
  w.line("}");
  return std::move(w).take();
}

}  // namespace cubind
