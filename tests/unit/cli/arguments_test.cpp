// The command line without a daemon: one line that names what is wrong, the documented exit code, nothing on standard
// output; and what needs no daemon works.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/cli/run_cubinctl.hpp"

namespace cubind::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string model() {
  return source_path("examples/llama-3.1-8b-awq.json");
}

struct Wrong {
  std::vector<std::string> arguments;
  int exit_code;
  std::string names;
};

TEST(Arguments, WhatIsWrongGetsOneLineThatNamesIt) {
  const std::string key(64, 'a');
  const auto prewarm = [](std::vector<std::string> more) {
    std::vector<std::string> all{"prewarm", model(), "--arch", "sm_90"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::vector<Wrong> cases = {
      {{}, 1, "subcommand is required"},
      {{"frobnicate"}, 1, "command \"frobnicate\" is none of prewarm, get"},
      {{"--frobnicate"}, 1, "subcommand is required"},
      {{"prewarm"}, 1, "CONFIG is missing"},
      {{"prewarm", model()}, 1, "--arch is missing"},
      {{"prewarm", model(), "--arch"}, 1, "--arch"},
      {{"prewarm", model(), "--arch", "hopper"}, 1, "\"hopper\""},
      {{"prewarm", model(), "--arch", "sm_70"}, 2, "sm_70"},
      {{"prewarm", model(), "--arch", "sm_80,"}, 1, "--arch \"sm_80,\""},
      {prewarm({"--tp", "0"}), 1, "--tp \"0\" is not an integer from 1"},
      {prewarm({"--tp", "2x"}), 1, "--tp \"2x\""},
      {prewarm({"--tp", "3"}), 2, "num_attention_heads \"32\" is not divisible by tp \"3\""},
      {prewarm({"--max-m", "0"}), 1, "--max-m \"0\""},
      {prewarm({"--max-m", "99999999"}), 1, "--max-m \"99999999\""},
      {prewarm({"--dtype", "float8"}), 2, "dtype \"float8\""},
      {prewarm({"--priority", "urgent"}), 1, "--priority \"urgent\""},
      {prewarm({"--deadline", "soon"}), 1, "--deadline \"soon\""},
      {prewarm({"--max-cuda", "12"}), 1, "--max-cuda \"12\""},
      {prewarm({"--max-cuda", "12080", "--toolchain", "x"}), 1, "together with --toolchain"},
      {prewarm({"surplus"}), 1, "surplus"},
      {prewarm({"--arhc", "sm_80"}), 1, "--arhc"},
      {{"prewarm", model(), "--arch", "sm_75"}, 2, "layer qkv_proj on sm_75: activation \"bf16\""},
      {{"prewarm", "/nonexistent.json", "--arch", "sm_90"}, 3, "\"/nonexistent.json\""},
      {{"prewarm", source_path("README.md"), "--arch", "sm_90"}, 1, "is not JSON"},
      {{"prewarm", source_path("tests/golden/models/gpt-oss-20b.json"), "--arch", "sm_90"}, 2, "mxfp4"},
      {{"get"}, 1, "FORMAT is missing"},
      {{"get", "w4a16-bf16-g128"}, 1, "--arch is missing"},
      {{"get", "w3a16", "--arch", "sm_90"}, 1, "w3a16"},
      {{"get", "w4a16-bf16-g128", "--arch", "sm_90", "--config", "m1n1"}, 1, "--config \"m1n1\" is none of"},
      {{"get", "--key", "abc"}, 1, "--key \"abc\" is not 64 hexadecimal digits"},
      {{"get", "w4a16-bf16-g128", "--key", key}, 1, "FORMAT \"w4a16-bf16-g128\" cannot be given together with --key"},
      {{"get", "--key", key, "-o", "/nonexistent/x.cubin"}, 3, "-o \"/nonexistent/x.cubin\""},
      {{"get", "--key", key, "-o", "-", "--json"}, 1, "--json"},
      {{"explain"}, 1, "FORMAT is missing"},
      {{"can", "w4a16-bf16-g128", "--arch", "sm_90", "--n", "64"}, 1, "--n \"64\" needs --k"},
      {{"can", "w4a16-bf16-g128", "--arch", "sm_75"}, 2, "bf16"},
      {{"tune", "w4a16-bf16-g128", "--shapes", "4096"}, 1, "--shapes \"4096\" is not of the form NxK"},
      {{"tune", "w4a16-bf16-g128", "--tokens", "8,0"}, 1, "--tokens \"0\""},
      {{"tune", "w4a16-bf16-g128,x"}, 1, "x"},
      {{"can", "w4a16-bf16-g128", "--arch", "sm_90", "--n", "64", "--k", "2880"}, 1, "2880"},
      {{"prewarm", model(), "--from-trace", "x"}, 1, "cannot be given together with --from-trace"},
      {{"prewarm", "--from-trace", "x", "--max-m", "9"}, 1, "--max-m \"9\" cannot be given together"},
      {{"prewarm", "--from-trace", "/nonexistent/trace"}, 3, "--from-trace \"/nonexistent/trace\""},
      {{"prewarm", "--from-trace", model()}, 1, "line 1 is not \"cubind-trace 1\""},
      {{"top", "--interval", "0"}, 1, "--interval"},
      {{"trace", "-o", "/nonexistent/x"}, 3, "-o \"/nonexistent/x\""},
      {{"ready"}, 9, "/nonexistent/cubind.sock"},
      {{"reload"}, 9, "/nonexistent/cubind.sock"},
      {{"purge"}, 1, "--all or --key"},
      {{"purge", "--all", "--key", key}, 1, "together with --all"},
      {{"purge", "--key", std::string(64, '0')}, 1, "--key"},
      {{"verify", "--key", "1"}, 1, "--key \"1\""},
      {{"health"}, 9, "/nonexistent/cubind.sock"},
      {{"stats", "--socket", "/nonexistent/other.sock"}, 9, "/nonexistent/other.sock"},
      {{"ls"}, 9, "/nonexistent/cubind.sock"},
      {{"purge", "--all"}, 9, "/nonexistent/cubind.sock"},
      {prewarm({}), 9, "/nonexistent/cubind.sock"},
  };
  for (const auto& wrong : cases) {
    std::string shown;
    for (const auto& argument : wrong.arguments) shown += argument + " ";
    const auto ran = cubinctl(wrong.arguments);
    EXPECT_EQ(ran.exit_code, wrong.exit_code) << shown << ran.err;
    EXPECT_EQ(ran.out, "") << shown;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << shown << ran.err;
    EXPECT_THAT(ran.err, StartsWith("cubinctl: ")) << shown;
    EXPECT_THAT(ran.err, HasSubstr(wrong.names)) << shown;
  }
}

TEST(Arguments, HelpAndVersion) {
  const auto help = cubinctl({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"Kernels:", "Daemon:", "Store:", "prewarm", "purge", "Exit codes:"}) {
    EXPECT_THAT(help.out, HasSubstr(part));
  }
  const auto prewarm = cubinctl({"prewarm", "--help"});
  EXPECT_EQ(prewarm.exit_code, 0);
  for (const char* part : {"CONFIG", "--arch", "--tp", "--max-m", "--dtype", "--dry-run", "--json", "--socket"}) {
    EXPECT_THAT(prewarm.out, HasSubstr(part));
  }
  const auto version = cubinctl({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("cubinctl 0."));
  EXPECT_THAT(version.out, HasSubstr("protocol 1"));
}

TEST(DryRun, PrintsLayersAndKernelsWithoutADaemon) {
  const auto ran =
      cubinctl({"prewarm", model(), "--arch", "sm_90a", "--tp", "1", "--max-m", "8192", "--dry-run", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["layers"], nlohmann::json::parse(R"([
      {"name": "qkv_proj", "count": 32, "n": 6144, "k": 4096}, {"name": "o_proj", "count": 32, "n": 4096, "k": 4096},
      {"name": "gate_up_proj", "count": 32, "n": 28672, "k": 4096},
      {"name": "down_proj", "count": 32, "n": 4096, "k": 14336}])"));
  EXPECT_GE(json["kernels"].size(), 3u);
  EXPECT_LE(json["kernels"].size(), 12u);
  for (const auto& kernel : json["kernels"]) EXPECT_EQ(kernel["arch"], "sm_90a");
}

nlohmann::json dry_run_kernels(std::vector<std::string> arguments) {
  std::vector<std::string> all{"prewarm", model(), "--dry-run", "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto ran = cubinctl(all);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return nlohmann::json::parse(ran.out)["kernels"];
}

TEST(DryRun, KernelsOfSeveralArchitecturesAddUpAndTheSameCodeCountsOnce) {
  const auto one = dry_run_kernels({"--arch", "sm_90"}).size(), other = dry_run_kernels({"--arch", "sm_80"}).size();
  EXPECT_EQ(dry_run_kernels({"--arch", "sm_90,sm_80"}).size(), one + other);
  EXPECT_EQ(dry_run_kernels({"--arch", "sm_86,sm_87"}).size(), dry_run_kernels({"--arch", "sm_86"}).size());
  EXPECT_GT(dry_run_kernels({"--arch", "sm_90,sm_90a"}).size(), one);
}

TEST(DryRun, KernelsDoNotDependOnTensorParallelism) {
  EXPECT_EQ(dry_run_kernels({"--arch", "sm_90", "--tp", "1"}), dry_run_kernels({"--arch", "sm_90", "--tp", "8"}));
}

TEST(DryRun, DtypeChangesTheFormat) {
  EXPECT_EQ(dry_run_kernels({"--arch", "sm_75", "--dtype", "float16"})[0]["format"], "w4a16-f16-g64-zp");
}

TEST(Can, SaysYesWithTheLaunchTable) {
  const auto ran = cubinctl({"can", "w4a16-bf16-g128", "--arch", "sm_90a", "--n", "4096", "--k", "4096", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["can"], true);
  EXPECT_EQ(json["arch"], "sm_90a");
  EXPECT_EQ(json["rows"].front()["m_first"], 1);
  EXPECT_EQ(json["rows"].back()["m_last"], 8192);
}

TEST(Can, SaysNoWithTheReason) {
  const auto ran = cubinctl({"can", "w4a16-bf16-g128", "--arch", "sm_75", "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["can"], false);
  EXPECT_EQ(json["code"], "not_supported");
  EXPECT_THAT(json["reason"].get<std::string>(), HasSubstr("bf16"));
}

}  // namespace
}  // namespace cubind::test
