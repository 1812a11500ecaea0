#include "codegen/kernel_builder.hpp"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/plan/planner.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The golden cubin has a kernel of 128 threads that takes 56 bytes of parameters, not GemmParams.
class KernelBuilder : public ::testing::Test {
 protected:
  KernelBuilder() {
    std::ifstream file(std::string(CUBIND_GOLDEN_CUBINS) + "/kernel_abi_sm_90.cubin", std::ios::binary);
    output_.cubin = to_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
    output_.log = "a warning";
    output_.wall_ms = 412.5;
    output_.peak_bytes = 99;
    unit_.key = sha256(as_bytes("key"));
    unit_.name = "some kernel";
    unit_.arch = {90, '\0'};
    unit_.toolchain = "nvrtc-13.0.88-bb5e3aac";
  }
  std::string refusal(const CompileUnit& unit, const GemmConfig& config) {
    const auto made = make_artifact(unit, descriptor_, config, output_);
    return made.ok() ? "made" : to_string(made.error());
  }

  CompileOutput output_;
  CompileUnit unit_;
  GemmDescriptor descriptor_ = *descriptor_from_name("w4a16-bf16-g128");
  GemmConfig config_;  // 4 warps: 128 threads
};

TEST_F(KernelBuilder, FillsTheFactsFromCubinConfigAndUnit) {
  const auto made = make_artifact(unit_, descriptor_, config_, output_);
  ASSERT_TRUE(made.ok()) << to_string(made.error());
  EXPECT_EQ(made->key, unit_.key);
  EXPECT_EQ(*made->cubin, output_.cubin);
  EXPECT_EQ(made->cubin_digest, sha256(output_.cubin));
  const auto& info = made->info;
  EXPECT_EQ(info.name, short_name(canonical(descriptor_)) + "-" + config_name(config_));
  EXPECT_EQ(info.entry, "cubind_kernel");
  EXPECT_EQ(to_string(info.arch), "sm_90");
  EXPECT_EQ(info.launch_abi, kPlainLaunchAbi);
  EXPECT_EQ(info.weight_layout, kWeightLayout);
  EXPECT_EQ(info.threads, 128u);
  EXPECT_EQ(info.tile_m, config_.tile_m);
  EXPECT_EQ(info.smem_bytes, smem_bytes(config_));
  EXPECT_EQ(info.registers, 8u);
  EXPECT_EQ(info.local_bytes, 0u);
  EXPECT_EQ(info.toolchain, "nvrtc-13.0.88-bb5e3aac");
  EXPECT_EQ(info.compile_ms, 412.5);
  EXPECT_EQ(info.compile_peak_bytes, 99u);
  EXPECT_EQ(info.log, "a warning");
}

TEST_F(KernelBuilder, RefusesWhatIsNotWhatWasAskedFor) {
  auto other_arch = unit_;
  other_arch.arch = {80, '\0'};
  EXPECT_EQ(refusal(other_arch, config_), "internal: cubin of \"some kernel\" for sm_80 is for sm_90");
  auto more_warps = config_;
  more_warps.warps_n = 2;
  EXPECT_THAT(refusal(unit_, more_warps), HasSubstr("is bounded to 128 threads, planned are 256"));
}

TEST_F(KernelBuilder, RefusesAnotherKernelsParameters) {
  std::ifstream file(std::string(CUBIND_GOLDEN_CUBINS) + "/sm_90.cubin", std::ios::binary);
  output_.cubin = to_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_THAT(refusal(unit_, config_), HasSubstr("takes 56 bytes of parameters, the launcher gives "));
}

TEST_F(KernelBuilder, RefusesWhatIsNoCubin) {
  output_.cubin = to_bytes("no cubin");
  EXPECT_THAT(refusal(unit_, config_), StartsWith("internal: cubin of \"some kernel\" for sm_90 cannot be read: "));
}

TEST_F(KernelBuilder, ALongLogKeepsItsEnds) {
  output_.log = "first line\n" + std::string(100000, 'x') + "\nlast line";
  const auto made = make_artifact(unit_, descriptor_, config_, output_);
  ASSERT_TRUE(made.ok());
  EXPECT_LE(made->info.log.size(), limits::kMaxCompileLog);
  EXPECT_THAT(made->info.log, StartsWith("first line"));
  EXPECT_THAT(made->info.log, ::testing::EndsWith("last line"));
}

}  // namespace
}  // namespace cubind
