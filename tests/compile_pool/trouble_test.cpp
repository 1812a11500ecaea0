// The pool with a compiler that misbehaves (tests/support/nvrtc_trouble): each trouble ends its own compile and nothing
// else, within the limits of time and memory.
#include <filesystem>
#include <fstream>
#include <map>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "codegen/nvrtc/options.hpp"
#include "daemon/zygote_compile_pool.hpp"
#include "protocol/limits.hpp"
#include "tests/support/temp_folder.hpp"

namespace cubind {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kGood[] = "extern \"C\" __global__ void good(float* p) { *p += 1; }\n";

// Resident bytes of a process.
std::uint64_t resident(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t total = 0, pages = 0;
  file >> total >> pages;
  return pages * 4096;
}

class CompilerTrouble : public ::testing::Test {
 protected:
  CompilerTrouble() {
    toolchains_ = find_toolchains({CUBIND_NVRTC_TROUBLE}, {}).value();
    config_.worker_path = CUBIND_WORKER;
    config_.workers = 2;
  }
  ~CompilerTrouble() override {
    pool_.reset();
    io_.poll();
  }

  void start() { pool_ = std::make_unique<ZygoteCompilePool>(io_, toolchains_, config_); }

  void submit(const std::string& name, const std::string& source) {
    CompileUnit unit;
    unit.name = name;
    unit.arch = {80, '\0'};
    unit.toolchain = toolchains_.front().id;
    unit.source = source;
    unit.options = compile_options(toolchains_.front(), unit.arch);
    const auto job = pool_->submit(std::move(unit), Priority::foreground, 1000, [this, name](CompileResult result) {
      results_.insert_or_assign(name, std::move(result));
    });
    ASSERT_TRUE(job.ok()) << to_string(job.error());
  }
  const CompileResult& result(const std::string& name) {
    const auto end = std::chrono::steady_clock::now() + seconds(100);
    while (!results_.contains(name) && std::chrono::steady_clock::now() < end) {
      io_.run_one_for(std::chrono::milliseconds(100));
    }
    static const CompileResult none(Error{ErrorCode::internal, "no result came"});
    const auto found = results_.find(name);
    return found == results_.end() ? none : found->second;
  }
  // What the trouble ends with; a good compile beside it and one after it must not notice.
  std::string outcome_of(const std::string& trouble) {
    start();
    submit("before", kGood);
    EXPECT_TRUE(result("before").ok());
    const auto zygote = pool_->zygote_pids().front();
    submit("trouble", kGood + ("// trouble: " + trouble + "\n"));
    submit("beside", kGood);
    const auto& ended = result("trouble");
    const std::string outcome = ended.ok() ? "ok" : to_string(ended.error());
    EXPECT_TRUE(result("beside").ok()) << to_string(result("beside").error());
    submit("after", kGood);
    EXPECT_TRUE(result("after").ok()) << to_string(result("after").error());
    EXPECT_EQ(pool_->zygote_pids().front(), zygote) << "the zygote had to be replaced";
    EXPECT_EQ(pool_->stats().running, 0u);
    return outcome;
  }

  std::vector<Toolchain> toolchains_;
  CompilePoolConfig config_;
  boost::asio::io_context io_;
  std::unique_ptr<ZygoteCompilePool> pool_;
  std::map<std::string, CompileResult> results_;
};

// Row K7 of docs/faults.md.
TEST_F(CompilerTrouble, AnAbortEndsItsOwnCompileOnly) {
  EXPECT_THAT(outcome_of("abort"), HasSubstr("signal 6"));
  EXPECT_NE(result("trouble").error().code, ErrorCode::compile_failed) << "not the source's fault";
}

TEST_F(CompilerTrouble, AHangIsEndedAtTheTimeLimit) {
  config_.timeout = seconds(2);
  EXPECT_THAT(outcome_of("hang"), HasSubstr("timed_out"));
}

TEST_F(CompilerTrouble, OneThatEatsMemoryMeetsItsOwnLimit) {
#ifdef CUBIND_SANITIZED
  GTEST_SKIP() << "no RLIMIT_AS under a sanitizer";
#endif
  config_.memory_bytes = 1 << 30;
  EXPECT_THAT(outcome_of("memory"), HasSubstr("resource_exhausted"));
}

TEST_F(CompilerTrouble, ALogOfMegabytesIsCut) {
  EXPECT_THAT(outcome_of("log"), HasSubstr("compile_failed"));
  EXPECT_LE(result("trouble").failure_log.size(), limits::kMaxCompileLog);
  EXPECT_LE(result("trouble").error().message.size(), limits::kMaxText);
}

TEST_F(CompilerTrouble, WhatItPrintsHoldsNothingUp) {
  EXPECT_EQ(outcome_of("chatter"), "ok");
}

TEST_F(CompilerTrouble, ACubinOfNoBytesIsNotTaken) {
  // The pool hands over what the compiler gave; codegen/kernel_builder refuses it (KernelBuilder.RefusesWhatIsNoCubin).
  const auto outcome = outcome_of("nothing");
  if (outcome == "ok") {
    EXPECT_TRUE(result("trouble")->cubin.empty());
  } else {
    EXPECT_THAT(outcome, HasSubstr("internal"));
  }
}

// Rows H4 and O3 of docs/faults.md.
TEST_F(CompilerTrouble, ParallelCompilesGiveTheBytesOfSerialOnes) {
  std::map<std::string, Digest> bytes[2];
  for (const std::uint32_t workers : {4u, 1u}) {
    config_.workers = workers;
    start();
    results_.clear();
    for (int i = 0; i < 8; ++i) {
      const auto n = std::to_string(i);
      submit(n, "extern \"C\" __global__ void k" + n + "(float* p) { p[" + n + "] = sinf(p[0] * " + n + "); }\n");
    }
    for (int i = 0; i < 8; ++i) {
      const auto& one = result(std::to_string(i));
      ASSERT_TRUE(one.ok()) << to_string(one.error());
      bytes[workers == 1].emplace(std::to_string(i), sha256(one->cubin));
    }
    EXPECT_EQ(pool_->stats().most_running, workers);
    pool_.reset();
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

// Row K5 of docs/faults.md. `full`: two thousand processes are made.
TEST_F(CompilerTrouble, ThousandsOfCompilesLeaveTheZygoteAsItWas) {
  if (std::getenv("CUBIND_FULL") == nullptr) GTEST_SKIP() << "with scripts/test.sh --full";
  start();
  std::uint64_t zygote_early = 0, own_early = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto trouble = i % 4 == 1 ? "// trouble: abort\n" : i % 4 == 3 ? "// trouble: log\n" : "";
    submit(std::to_string(i), kGood + std::string(trouble));
    if (i % 2 == 1) {
      static_cast<void>(result(std::to_string(i - 1)));
      static_cast<void>(result(std::to_string(i)));
      results_.clear();
    }
    if (i == 400) {
      zygote_early = resident(pool_->zygote_pids().front());
      own_early = resident(::getpid());
    }
  }
  EXPECT_LT(resident(pool_->zygote_pids().front()), zygote_early + (8u << 20));
  EXPECT_LT(resident(::getpid()), own_early + (16u << 20));
}

}  // namespace
}  // namespace cubind
