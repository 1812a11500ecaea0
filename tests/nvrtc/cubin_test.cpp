// Kernels compiled whole: a pairwise sample of all there are, or all of them with CUBIND_FULL=1. Each twice, in two
// processes, to the same bytes; each an artifact that fits the plan, without spills and small.
#include <gtest/gtest.h>

#include "codegen/kernel_builder.hpp"
#include "codegen/plan/planner.hpp"
#include "tests/nvrtc/kernels.hpp"

namespace cubind {
namespace {

constexpr std::size_t kMaxSample = 120;
constexpr std::size_t kMaxCubin = 150 * 1000;

// "" and the digest, or what is wrong.
std::pair<std::string, std::string> build(const KernelCase& kernel) {
  const auto keyed = make_keyed_unit(kernel.descriptor, kernel.config, kernel.arch, test_toolchain());
  if (!keyed.ok()) return {to_string(keyed.error()), ""};
  auto compiled = compile(keyed->unit.source, keyed->unit.headers, keyed->unit.options);
  if (!compiled.ok()) return {to_string(compiled.error()) + "\n" + compiled.failure_log, ""};
  const auto artifact = make_artifact(keyed->unit, kernel.descriptor, kernel.config, std::move(*compiled));
  if (!artifact.ok()) return {to_string(artifact.error()), ""};
  const auto& info = artifact->info;
  if (info.local_bytes != 0) return {"spills or a stack: " + std::to_string(info.local_bytes) + " bytes a thread", ""};
  if (info.static_smem_bytes != 0) return {"static shared memory, which the launcher does not know of", ""};
  const auto size = artifact->cubin->size();
  if (size > kMaxCubin) return {"the cubin has " + std::to_string(size) + " bytes", ""};
  if (!info.log.empty()) return {"the compiler says: " + info.log, ""};
  return {"", artifact->cubin_digest.hex()};
}

TEST(Cubins, AreReproducibleAndFitThePlan) {
  auto kernels = all_kernels();
  if (!full_run()) {
    kernels = pairwise(kernels);
    ASSERT_LE(kernels.size(), kMaxSample);
  }
  ASSERT_GE(kernels.size(), 20u);
  // Odd, so that with any number of processes the two compiles of a kernel are some way apart; the second goes the
  // other way round.
  const auto count = kernels.size();
  const auto results = on_all_processors(2 * count, [&](std::size_t i) {
    const auto [wrong, digest] = build(kernels[i < count ? i : 2 * count - 1 - i]);
    return wrong.empty() ? digest : "wrong: " + wrong;
  });
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(results[i].find("wrong: "), std::string::npos) << kernels[i].name << ": " << results[i];
    EXPECT_EQ(results[i], results[2 * count - 1 - i]) << kernels[i].name << " came out differently the second time";
  }
}

}  // namespace
}  // namespace cubind
