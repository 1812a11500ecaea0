#include "codegen/nvrtc/toolchain.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/codegen/fake_library.hpp"

namespace cubind {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FindToolchains : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "cubind-toolchain-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  // A pair as a toolkit or a wheel lays it out.
  void install(const fs::path& folder, const std::string& file, const std::string& release, const std::string& patch,
               const std::string& id = "aa") {
    fs::create_directories(folder);
    FakeLibrary library;
    library.soname = "libnvrtc.so." + release.substr(0, release.find('.'));
    library.build_id = id;
    library.constants = "Cuda compilation tools, release %d.%d, V%s" + std::string(1, '\0') +
                        "Cuda compilation tools, release " + release + ", V" + release + "." + patch;
    library.write(folder / file);
    FakeLibrary builtins;
    builtins.soname = "libnvrtc-builtins.so." + release;
    builtins.build_id = "b" + id.substr(1);
    builtins.write(folder / builtins.soname);
  }

  fs::path root_;
};

TEST_F(FindToolchains, ReadsIdentityWithoutLoading) {
  install(root_ / "lib", "libnvrtc.so.13", "13.0", "88", "c0ffee");
  const auto found = find_toolchains({root_ / "lib"}, {});
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  ASSERT_EQ(found->size(), 1u);
  const auto& toolchain = found->front();
  EXPECT_EQ(version_text(toolchain), "13.0.88");
  EXPECT_EQ(toolchain.cuda_version(), 13000u);
  EXPECT_EQ(toolchain.build_id, "c0ffee");
  EXPECT_EQ(toolchain.builtins_build_id, "b0ffee");
  EXPECT_EQ(toolchain.nvrtc_path, fs::canonical(root_ / "lib/libnvrtc.so.13"));
  EXPECT_EQ(toolchain.builtins_path, fs::canonical(root_ / "lib/libnvrtc-builtins.so.13.0"));
  EXPECT_THAT(toolchain.id, ::testing::MatchesRegex("nvrtc-13\\.0\\.88-[0-9a-f]{8}"));
  EXPECT_TRUE(toolchain.installed);
}

TEST_F(FindToolchains, TheSameLibraryHasTheSameIdWhereverItLies) {
  install(root_ / "toolkit", "libnvrtc.so.12.8.93", "12.8", "93");
  install(root_ / "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib", "libnvrtc.so.12", "12.8", "93");
  const auto toolkit = find_toolchains({root_ / "toolkit"}, {});
  const auto wheel = find_toolchains({root_ / "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib"}, {});
  ASSERT_TRUE(toolkit.ok() && wheel.ok());
  EXPECT_EQ(toolkit->front().id, wheel->front().id);
  EXPECT_NE(toolkit->front().nvrtc_path, wheel->front().nvrtc_path);
}

TEST_F(FindToolchains, EachBuildIdHasAnIdOfItsOwn) {
  install(root_ / "a", "libnvrtc.so.13", "13.0", "88", "a1");
  install(root_ / "b", "libnvrtc.so.13", "13.0", "88", "a2");
  const auto found = find_toolchains({root_ / "a", root_ / "b"}, {});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_NE((*found)[0].id, (*found)[1].id);
}

TEST_F(FindToolchains, LooksIntoWheelsAndSortsNewestFirst) {
  install(root_ / "nvidia/cu13/lib", "libnvrtc.so.13", "13.0", "88");
  install(root_ / "nvidia/cuda_nvrtc/lib", "libnvrtc.so.12", "12.8", "93");
  install(root_ / "toolkit", "libnvrtc.so.12", "12.10", "1");
  const auto found = find_toolchains({root_ / "toolkit"}, {root_});
  ASSERT_TRUE(found.ok());
  std::vector<std::string> versions;
  for (const auto& toolchain : *found) versions.push_back(version_text(toolchain));
  EXPECT_THAT(versions, ElementsAre("13.0.88", "12.10.1", "12.8.93"));
}

TEST_F(FindToolchains, CountsOneLibraryUnderSeveralNamesOnceAndIgnoresAlt) {
  install(root_ / "lib", "libnvrtc.so.13.0.88", "13.0", "88");
  install(root_ / "lib", "libnvrtc.alt.so.13", "13.0", "88", "dd");
  install(root_ / "lib", "libnvrtc.so.13.0.88", "13.0", "88");
  fs::create_symlink("libnvrtc.so.13.0.88", root_ / "lib/libnvrtc.so.13");
  fs::create_symlink("libnvrtc.so.13", root_ / "lib/libnvrtc.so");
  const auto found = find_toolchains({root_ / "lib"}, {});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().build_id, "aa");
}

TEST_F(FindToolchains, AForwarderKeepsTheIdentityOfWhatItForwardsTo) {
  install(root_ / "real", "libnvrtc.so.13", "13.0", "88", "c0ffee");
  FakeLibrary forwarder;
  forwarder.soname = "libcounter.so";
  forwarder.build_id = "ff";
  forwarder.needed = {"libc.so.6", "libnvrtc.so.13"};
  forwarder.runpath = "/nowhere:$ORIGIN/real";
  forwarder.write(root_ / "libcounter.so");
  const auto real = find_toolchains({root_ / "real/libnvrtc.so.13"}, {});
  const auto found = find_toolchains({root_ / "libcounter.so"}, {});
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  EXPECT_EQ(found->front().id, real->front().id);
  EXPECT_EQ(found->front().build_id, "c0ffee");
  EXPECT_EQ(found->front().nvrtc_path, fs::canonical(root_ / "libcounter.so"));
  EXPECT_EQ(found->front().builtins_path, real->front().builtins_path);
}

TEST_F(FindToolchains, WhatIsConfiguredMustBeUsable) {
  const auto message = [&](const fs::path& path) {
    const auto found = find_toolchains({path}, {});
    return found.ok() ? "found" : to_string(found.error());
  };
  EXPECT_THAT(message(root_ / "absent.so"), HasSubstr("not_found: toolchain path \"" + (root_ / "absent.so").string()));
  EXPECT_THAT(message(root_), HasSubstr("the folder holds no libnvrtc.so"));
  std::ofstream(root_ / "libnvrtc.so.13") << "text";
  EXPECT_THAT(message(root_ / "libnvrtc.so.13"), HasSubstr("is not an nvrtc library"));
  install(root_ / "old", "libnvrtc.so.11.2", "11.2", "152");
  EXPECT_THAT(message(root_ / "old"), HasSubstr("is before 12.0"));
  install(root_ / "alone", "libnvrtc.so.13", "13.0", "88");
  fs::remove(root_ / "alone/libnvrtc-builtins.so.13.0");
  EXPECT_THAT(message(root_ / "alone/libnvrtc.so.13"), HasSubstr("no libnvrtc-builtins beside it"));
}

Toolchain known(const std::string& id, std::uint32_t major, std::uint32_t minor, bool installed = true) {
  Toolchain toolchain;
  toolchain.id = id;
  toolchain.major = major;
  toolchain.minor = minor;
  toolchain.installed = installed;
  return toolchain;
}

class ChooseToolchain : public ::testing::Test {
 protected:
  std::string choose(ToolchainRule rule, std::uint32_t max_cuda = 0, std::string id = {},
                     std::vector<std::string> excluded = {}, const std::string& configured = {}) {
    const auto chosen = choose_toolchain(toolchains_, {rule, std::move(id), max_cuda, std::move(excluded)}, configured);
    return chosen.ok() ? (*chosen)->id : to_string(chosen.error());
  }
  std::vector<Toolchain> toolchains_{known("13.1", 13, 1), known("13.0", 13, 0), known("12.8", 12, 8),
                                     known("12.4", 12, 4)};
};

TEST_F(ChooseToolchain, AnyIsTheConfiguredOneElseTheNewest) {
  EXPECT_EQ(choose(ToolchainRule::any), "13.1");
  EXPECT_EQ(choose(ToolchainRule::any, 0, {}, {}, "12.8"), "12.8");
  EXPECT_EQ(choose(ToolchainRule::any, 0, {}, {"12.8"}, "12.8"), "13.1");
  EXPECT_EQ(choose(ToolchainRule::any, 0, {}, {}, "11.0"),
            "unavailable: no toolchain \"11.0\", the configured one; there is 13.1, 13.0, 12.8, 12.4");
}

TEST_F(ChooseToolchain, MaxCudaTakesTheNewestOfTheMajorNotAboveIt) {
  EXPECT_EQ(choose(ToolchainRule::max_cuda, 13000), "13.0");
  EXPECT_EQ(choose(ToolchainRule::max_cuda, 13020), "13.1");
  EXPECT_EQ(choose(ToolchainRule::max_cuda, 12060), "12.4");
  EXPECT_EQ(choose(ToolchainRule::max_cuda, 13020, {}, {"13.1"}), "13.0");
}

TEST_F(ChooseToolchain, MaxCudaBelowAllOfItsMajorTakesTheOldest) {
  EXPECT_EQ(choose(ToolchainRule::max_cuda, 12020), "12.4");
}

TEST_F(ChooseToolchain, MaxCudaNeverCrossesTheMajor) {
  EXPECT_THAT(choose(ToolchainRule::max_cuda, 11080), HasSubstr("unavailable: no toolchain of cuda 11"));
}

TEST_F(ChooseToolchain, ExactIsThatOneOrUnavailable) {
  EXPECT_EQ(choose(ToolchainRule::exact, 0, "12.8"), "12.8");
  EXPECT_EQ(choose(ToolchainRule::exact, 0, "12.8", {"12.8"}),
            "unavailable: no toolchain \"12.8\"; there is 13.1, 13.0, 12.8 (excluded), 12.4");
}

TEST_F(ChooseToolchain, AnInstalledOneGoesBeforeOneThatOnlyTheStoreKnows) {
  toolchains_ = {known("13.1", 13, 1, false), known("13.0", 13, 0)};
  EXPECT_EQ(choose(ToolchainRule::any), "13.0");
  EXPECT_EQ(choose(ToolchainRule::max_cuda, 13010), "13.0");
  EXPECT_EQ(choose(ToolchainRule::exact, 0, "13.1"), "13.1");
  toolchains_ = {known("13.1", 13, 1, false)};
  EXPECT_EQ(choose(ToolchainRule::any), "13.1");
}

TEST_F(ChooseToolchain, NothingLeftSaysWhatThereIs) {
  toolchains_.clear();
  EXPECT_EQ(choose(ToolchainRule::any), "unavailable: no toolchain that is not excluded; there is none");
}

TEST(CompilesFor, KnowsTargetsAndSuffixesOfEachVersion) {
  const auto can = [](std::uint32_t major, std::uint32_t minor, const char* arch) {
    return compiles_for(known("t", major, minor), *arch_from_string(arch));
  };
  for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_120a"}) {
    EXPECT_TRUE(can(13, 0, arch)) << arch;
  }
  for (const char* arch : {"sm_70", "sm_101a", "sm_130", "sm_80a", "sm_90f"}) EXPECT_FALSE(can(13, 0, arch)) << arch;
  EXPECT_TRUE(can(12, 4, "sm_90a"));
  EXPECT_FALSE(can(12, 4, "sm_100"));
  EXPECT_TRUE(can(12, 8, "sm_120a"));
  EXPECT_FALSE(can(12, 8, "sm_120f"));
}

}  // namespace
}  // namespace cubind
