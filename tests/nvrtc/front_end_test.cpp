// What takes no code generation: every device header by itself, and every kernel on every target, through NVRTC's C++
// front end.
#include <gtest/gtest.h>

#include "codegen/embedded_headers.hpp"
#include "codegen/nvrtc/options.hpp"
#include "codegen/plan/planner.hpp"
#include "tests/nvrtc/kernels.hpp"

namespace cubind {
namespace {

std::vector<std::string> syntax_only(Arch arch) {
  auto options = compile_options(test_toolchain(), arch);
  options.emplace_back("--fdevice-syntax-only");
  return options;
}

// A header that needs another one includes it.
TEST(FrontEnd, EveryHeaderCompilesAloneOnEveryTarget) {
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  for (const auto& header : embedded_headers()) headers.emplace_back(header.name, header.text);
  ASSERT_FALSE(headers.empty());
  const auto archs = code_archs();
  const auto results = on_all_processors(headers.size() * archs.size(), [&](std::size_t i) {
    const auto arch = archs[i % archs.size()];
    const auto name = headers[i / archs.size()].first;
    const auto compiled = compile("#include \"" + std::string(name) + "\"\n", headers, syntax_only(arch));
    if (compiled.ok()) return std::string();
    return std::string(name) + " on " + to_string(arch) + ": " + to_string(compiled.error()) + "\n" +
           compiled.failure_log;
  });
  for (const auto& result : results) EXPECT_EQ(result, "");
}

TEST(FrontEnd, EveryKernelPassesItOnItsTarget) {
  const auto kernels = all_kernels();
  ASSERT_GT(kernels.size(), 100u);
  const auto results = on_all_processors(kernels.size(), [&](std::size_t i) {
    const auto& kernel = kernels[i];
    const auto keyed = make_keyed_unit(kernel.descriptor, kernel.config, kernel.arch, test_toolchain());
    if (!keyed.ok()) return kernel.name + ": " + to_string(keyed.error());
    const auto compiled = compile(keyed->unit.source, keyed->unit.headers, syntax_only(kernel.arch));
    if (!compiled.ok()) return kernel.name + ": " + to_string(compiled.error()) + "\n" + compiled.failure_log;
    return compiled->log.empty() ? std::string() : kernel.name + " has warnings: " + compiled->log;
  });
  for (const auto& result : results) EXPECT_EQ(result, "");
}

}  // namespace
}  // namespace cubind
