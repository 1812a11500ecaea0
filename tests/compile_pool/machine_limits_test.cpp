#include "daemon/machine_limits.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace cubind {
namespace {

namespace fs = std::filesystem;

class MachineLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "cubind-limits-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  fs::path root_;
};

TEST_F(MachineLimitsTest, WithoutCgroupsItIsAffinityAndMemory) {
  const auto limits = read_machine_limits(root_, 8);
  EXPECT_EQ(limits.cpus, 8);
  EXPECT_EQ(limits.memory_bytes, 16ull << 30);
}

TEST_F(MachineLimitsTest, VersionTwoCountsTheTightestLimitOnTheWayUp) {
  write("proc/self/cgroup", "0::/system.slice/cubind.service\n");
  write("sys/fs/cgroup/system.slice/cubind.service/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/system.slice/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/system.slice/cubind.service/memory.max", "1073741824\n");
  write("sys/fs/cgroup/system.slice/memory.max", "max\n");
  const auto limits = read_machine_limits(root_, 8);
  EXPECT_EQ(limits.cpus, 2.5);
  EXPECT_EQ(limits.memory_bytes, 1ull << 30);
}

TEST_F(MachineLimitsTest, VersionOneCountsToo) {
  write("proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n");
  write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "2147483648\n");
  const auto limits = read_machine_limits(root_, 8);
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 2ull << 30);
}

TEST_F(MachineLimitsTest, InAContainerTheRootOfTheMountIsTheGroup) {
  write("proc/self/cgroup", "4:memory:/docker/abc\n3:cpu:/docker/abc\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const auto limits = read_machine_limits(root_, 4);
  EXPECT_EQ(limits.cpus, 4);
  EXPECT_EQ(limits.memory_bytes, 2ull << 30);
}

TEST(MachineLimits, ParsesWhatTheKernelWrites) {
  EXPECT_EQ(cpus_of_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(cpus_of_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(cpus_of_cpu_max("1 0\n"), std::nullopt);
  EXPECT_EQ(cpus_of_cpu_max(""), std::nullopt);
  EXPECT_EQ(bytes_of_limit("max\n"), std::nullopt);
  EXPECT_EQ(bytes_of_limit("9223372036854771712\n"), std::nullopt);
  EXPECT_EQ(bytes_of_limit("4096\n"), 4096u);
  EXPECT_EQ(cgroup_path("4:memory:/a\n0::/b\n", ""), "/b");
  EXPECT_EQ(cgroup_path("4:memory:/a\n0::/b\n", "memory"), "/a");
  EXPECT_EQ(cgroup_path("3:cpuset:/a\n", "cpu"), std::nullopt);
}

TEST(MachineLimits, WorkersFitProcessorsAndMemoryAndAreNeverNone) {
  EXPECT_EQ(workers_for(0, {2.5, 64ull << 30}), 2u);
  EXPECT_EQ(workers_for(0, {0.5, 64ull << 30}), 1u);
  EXPECT_EQ(workers_for(0, {32, 1ull << 30}), 2u);
  EXPECT_EQ(workers_for(0, {32, 100ull << 20}), 1u);
  EXPECT_EQ(workers_for(0, {32, 0}), 32u);
}

// Rows K2 and K4 of docs/faults.md.
TEST(MachineLimits, AConfiguredNumberIsTakenAsFarAsMemoryAllows) {
  EXPECT_EQ(workers_for(16, {2, 64ull << 30}), 16u) << "more than processors is the operator's choice";
  EXPECT_EQ(workers_for(16, {2, 512ull << 20}), 1u);
  EXPECT_EQ(workers_for(16, {2, 2ull << 30}), 5u);
  EXPECT_EQ(workers_for(3, {2, 2ull << 30}), 3u);
  EXPECT_EQ(workers_for(1, {2, 1ull << 20}), 1u);
}

}  // namespace
}  // namespace cubind
