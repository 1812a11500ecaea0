// The pool with real workers and a real NVRTC, compiles counted.
#include "daemon/zygote_compile_pool.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/digest.hpp"
#include "codegen/nvrtc/options.hpp"

namespace cubind {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kQuick[] = "extern \"C\" __global__ void quick(float* p) { *p += 1; }";
constexpr char kBad[] = "extern \"C\" __global__ void bad() { no_such_thing(); }";
// More than a minute of compiling, and more than a gigabyte.
std::string slow_source() {
  std::string source = "extern \"C\" __global__ void slow(float* p) { float a = 0;\n";
  for (int i = 0; i < 2000; ++i) {
    const auto at = [&](int k) { return "p[" + std::to_string(i + k) + "]"; };
    source += "if (" + at(0) + " > a) a += sinf(a * " + at(1) + ") / " + at(2) + ";\n";
  }
  return source + "p[0] = a; }";
}

class ZygoteCompilePoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "cubind-pool-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::copy_file(CUBIND_NVRTC_COUNTER, folder_ / "libcounter.so");
    auto found = find_toolchains({folder_ / "libcounter.so"}, {});
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    toolchains_ = std::move(*found);
    config_.worker_path = CUBIND_WORKER;
    config_.workers = 2;
  }
  void TearDown() override {
    ::unsetenv("CUBIND_FAULT");
    pool_.reset();
    io_.poll();
    fs::remove_all(folder_);
  }

  void start() { pool_ = std::make_unique<ZygoteCompilePool>(io_, toolchains_, config_); }

  CompileUnit unit(const std::string& source, Arch arch = {80, '\0'}) {
    CompileUnit made;
    made.name = "test";
    made.arch = arch;
    made.toolchain = toolchains_.front().id;
    made.source = source;
    made.options = compile_options(toolchains_.front(), arch);
    return made;
  }

  // The name goes into `finished_` when its compile is done.
  CompilePool::JobId submit(const std::string& name, CompileUnit what, Priority priority = Priority::foreground) {
    const auto id = pool_->submit(std::move(what), priority, 0, [this, name](CompileResult result) {
      finished_.push_back(name);
      results_.emplace(name, std::move(result));
    });
    EXPECT_TRUE(id.ok()) << to_string(id.error());
    return id.ok() ? *id : 0;
  }

  template <class Condition>
  bool wait_for(Condition condition, seconds limit = seconds(300)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition() && std::chrono::steady_clock::now() < end) io_.run_one_for(milliseconds(100));
    return condition();
  }
  const CompileResult& result(const std::string& name) {
    EXPECT_TRUE(wait_for([&] { return results_.contains(name); })) << name;
    static const CompileResult missing(Error{ErrorCode::internal, "no result came"});
    const auto found = results_.find(name);
    return found == results_.end() ? missing : found->second;
  }
  std::string outcome(const std::string& name) {
    const auto& r = result(name);
    return r.ok() ? "ok" : to_string(r.error());
  }
  bool busy(CompilePool::JobId job) {
    return wait_for([&] { return pool_->is_running(job); });
  }
  std::uintmax_t compiles() {
    std::error_code none;
    const auto size = fs::file_size(folder_ / "libcounter.so.count", none);
    return none ? 0 : size;
  }

  fs::path folder_;
  std::vector<Toolchain> toolchains_;
  CompilePoolConfig config_;
  boost::asio::io_context io_;
  std::unique_ptr<ZygoteCompilePool> pool_;
  std::map<std::string, CompileResult> results_;
  std::vector<std::string> finished_;
};

TEST_F(ZygoteCompilePoolTest, CompilesTwiceToTheSameBytesAndCountsNoWarmUp) {
  start();
  submit("a", unit(kQuick));
  submit("b", unit(kQuick));
  ASSERT_EQ(outcome("a"), "ok");
  ASSERT_EQ(outcome("b"), "ok");
  EXPECT_EQ(sha256(result("a")->cubin), sha256(result("b")->cubin));
  EXPECT_GT(result("a")->wall_ms, 0);
  EXPECT_GT(result("a")->cpu_ms, 0);
  EXPECT_GT(result("a")->peak_bytes, 1u << 20);
  EXPECT_EQ(compiles(), 2u);
  EXPECT_EQ(pool_->stats().succeeded, 2u);
  EXPECT_EQ(pool_->stats().running, 0u);
}

TEST_F(ZygoteCompilePoolTest, ABadSourceFailsWithItsLog) {
  start();
  submit("bad", unit(kBad));
  EXPECT_THAT(outcome("bad"), HasSubstr("compile_failed: nvrtc: NVRTC_ERROR_COMPILATION: kernel.cu(1): error:"));
  EXPECT_THAT(result("bad").failure_log, HasSubstr("no_such_thing"));
}

TEST_F(ZygoteCompilePoolTest, AnUnknownToolchainIsUnavailableAtOnce) {
  start();
  auto other = unit(kQuick);
  other.toolchain = "nvrtc-1.2.3-deadbeef";
  const auto id = pool_->submit(std::move(other), Priority::foreground, 0, [](CompileResult) { FAIL(); });
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(to_string(id.error()), "unavailable: toolchain \"nvrtc-1.2.3-deadbeef\" is not installed");
}

TEST_F(ZygoteCompilePoolTest, ForegroundOvertakesPrewarmAndPromotionCounts) {
  config_.workers = 1;
  start();
  submit("prewarm 1", unit(kQuick), Priority::prewarm);
  const auto promoted = submit("prewarm 2", unit(kQuick), Priority::prewarm);
  submit("foreground", unit(kQuick));
  pool_->set_priority(promoted, Priority::foreground);
  ASSERT_TRUE(wait_for([&] { return finished_.size() == 3; }));
  EXPECT_THAT(finished_, ElementsAre("foreground", "prewarm 2", "prewarm 1"));
  EXPECT_EQ(pool_->stats().most_running, 1u);
}

TEST_F(ZygoteCompilePoolTest, RunsAsManyAtOnceAsItHasWorkers) {
  start();
  for (int i = 0; i < 5; ++i) submit(std::to_string(i), unit(kQuick));
  ASSERT_TRUE(wait_for([&] { return finished_.size() == 5; }));
  EXPECT_EQ(pool_->stats().most_running, 2u);
}

TEST_F(ZygoteCompilePoolTest, AFullQueueIsResourceExhausted) {
  config_.max_queue = 2;
  start();
  submit("a", unit(kQuick));
  submit("b", unit(kQuick));  // nothing runs yet: the zygote is starting
  const auto third = pool_->submit(unit(kQuick), Priority::foreground, 0, [](CompileResult) { FAIL(); });
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(to_string(third.error()), "resource_exhausted: the queue of compiles is full at \"2\"");
}

TEST_F(ZygoteCompilePoolTest, CancellingARunningCompileKillsItSoon) {
  start();
  const auto job = submit("slow", unit(slow_source()));
  ASSERT_TRUE(busy(job));
  ASSERT_TRUE(wait_for([&] { return compiles() == 1; }));
  const auto start = std::chrono::steady_clock::now();
  pool_->cancel(job);
  EXPECT_THAT(finished_, ElementsAre());  // never from inside
  EXPECT_EQ(outcome("slow"), "cancelled: the compile was cancelled");
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));  // the compile itself takes more than a minute
  submit("next", unit(kQuick));
  EXPECT_EQ(outcome("next"), "ok");
}

TEST_F(ZygoteCompilePoolTest, CancellingAQueuedCompileNeverStartsIt) {
  start();
  const auto job = submit("a", unit(kQuick));
  pool_->cancel(job);
  EXPECT_EQ(outcome("a"), "cancelled: the compile was cancelled");
  submit("b", unit(kQuick));
  EXPECT_EQ(outcome("b"), "ok");
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(ZygoteCompilePoolTest, ACompileThatTakesTooLongIsTimedOut) {
  config_.timeout = seconds(2);
  start();
  submit("slow", unit(slow_source()));
  EXPECT_EQ(outcome("slow"), "timed_out: the compile passed compile.timeout \"2s\" by the clock");
  EXPECT_EQ(pool_->stats().timed_out, 1u);
}

TEST_F(ZygoteCompilePoolTest, ACompileThatTakesTooMuchOfTheProcessorIsTimedOut) {
  config_.cpu_time = seconds(1);
  start();
  submit("slow", unit(slow_source()));
  submit("quick", unit(kQuick));
  EXPECT_EQ(outcome("slow"), "timed_out: the compile passed compile.cpu_time \"1s\" of processor time");
  EXPECT_EQ(outcome("quick"), "ok");
  EXPECT_EQ(pool_->stats().timed_out, 1u);
}

TEST_F(ZygoteCompilePoolTest, ACompileThatTakesTooMuchMemoryIsNoCompileFailure) {
#ifdef CUBIND_SANITIZED
  GTEST_SKIP() << "no RLIMIT_AS under a sanitizer";
#endif
  config_.memory_bytes = 400 << 20;
  start();
  submit("big", unit(slow_source()));
  EXPECT_THAT(outcome("big"), HasSubstr("resource_exhausted"));
  submit("small", unit(kQuick));
  EXPECT_EQ(outcome("small"), "ok");
}

TEST_F(ZygoteCompilePoolTest, AKilledZygoteIsReplacedAndItsCompilesRunAgain) {
  start();
  const auto job = submit("slow", unit(slow_source()));
  ASSERT_TRUE(busy(job));
  const auto first = pool_->zygote_pids().front();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  ASSERT_TRUE(wait_for([&] { return pool_->stats().started == 2; }));
  EXPECT_NE(pool_->zygote_pids().front(), first);
  EXPECT_THAT(finished_, ElementsAre());
  ASSERT_EQ(::kill(pool_->zygote_pids().front(), SIGKILL), 0);  // twice is no chance
  EXPECT_THAT(outcome("slow"), HasSubstr("unavailable: the compile worker of \"nvrtc-"));
  submit("next", unit(kQuick));
  EXPECT_EQ(outcome("next"), "ok");
}

// Its socket is closed, but the pool has not heard of its end: a second try at once would meet the same zygote.
TEST_F(ZygoteCompilePoolTest, AJobThatMeetsADeadZygoteIsCompiledByTheNextOne) {
  start();
  submit("before", unit(kQuick));
  ASSERT_EQ(outcome("before"), "ok");
  const auto first = pool_->zygote_pids().front();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(first), &ended, WEXITED | WNOWAIT), 0);
  submit("after", unit(kQuick));
  EXPECT_EQ(outcome("after"), "ok");
}

TEST_F(ZygoteCompilePoolTest, AStoppedDaemonLeavesNoProcessBehind) {
  start();
  const auto job = submit("slow", unit(slow_source()));
  ASSERT_TRUE(busy(job));
  ASSERT_TRUE(wait_for([&] { return compiles() == 1; }));
  const auto zygote = pool_->zygote_pids().front();
  pool_.reset();
  EXPECT_EQ(::kill(zygote, 0), -1);
  EXPECT_THAT(finished_, ElementsAre());  // no answer after the end
}

TEST_F(ZygoteCompilePoolTest, AToolchainThatCannotRunIsUnavailable) {
  toolchains_.front().builtins_path = "/nonexistent/libnvrtc-builtins.so";
  start();
  submit("a", unit(kQuick));
  EXPECT_THAT(outcome("a"), HasSubstr("unavailable: nvrtc \"/nonexistent/libnvrtc-builtins.so\" cannot be loaded"));
}

// An upgrade puts another NVRTC in its place. The zygote that runs has the old one and goes on; the next one would
// compile with the new one under the old one's keys.
TEST_F(ZygoteCompilePoolTest, ALibraryThatWasReplacedIsNotTakenForTheOneBefore) {
  start();
  submit("before", unit(kQuick));
  ASSERT_EQ(outcome("before"), "ok");

  const auto& toolchain = toolchains_.front();
  const auto name = "libnvrtc.so." + std::to_string(toolchain.major);
  const fs::path builtins = toolchain.builtins_path;
  std::ifstream installed(builtins.parent_path() / name, std::ios::binary);
  std::string library(std::istreambuf_iterator<char>(installed), {});
  std::string build_id;
  for (std::size_t i = 0; i + 1 < toolchain.build_id.size(); i += 2) {
    build_id += static_cast<char>(std::stoi(toolchain.build_id.substr(i, 2), nullptr, 16));
  }
  const auto at = library.find(build_id);
  ASSERT_NE(at, std::string::npos) << "of " << builtins.parent_path() / name;
  library[at] ^= 1;
  // The counter takes the one beside itself first.
  std::ofstream(folder_ / name, std::ios::binary) << library;
  fs::create_symlink(builtins, folder_ / builtins.filename());

  submit("with the old one", unit(kQuick));
  EXPECT_EQ(outcome("with the old one"), "ok");
  ASSERT_EQ(::kill(pool_->zygote_pids().front(), SIGKILL), 0);
  submit("with the new one", unit(kQuick));
  EXPECT_THAT(outcome("with the new one"), HasSubstr("any more: restart the daemon"));
  EXPECT_EQ(compiles(), 2u);

  fs::remove(folder_ / name);
  ASSERT_TRUE(wait_for([&] {
    submit("again", unit(kQuick));
    const bool done = outcome("again") == "ok";
    results_.erase("again");
    return done;
  }));
}

TEST_F(ZygoteCompilePoolTest, AMissingWorkerProgramIsUnavailable) {
  config_.worker_path = "/nonexistent/cubind-worker";
  start();
  submit("a", unit(kQuick));
  EXPECT_EQ(outcome("a"),
            "unavailable: compile worker \"/nonexistent/cubind-worker\" cannot be started: No such file or directory");
}

#ifdef CUBIND_FAULT_POINTS
TEST_F(ZygoteCompilePoolTest, AHeldStartBlocksNothingAndIsWaitedFor) {
  ::setenv("CUBIND_FAULT", "worker.start=sleep:1000", 1);
  const auto began = std::chrono::steady_clock::now();
  start();
  const auto job = submit("a", unit(kQuick));
  io_.poll();
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(800));
  EXPECT_FALSE(pool_->is_running(job));
  EXPECT_EQ(outcome("a"), "ok");
  EXPECT_GE(std::chrono::steady_clock::now() - began, seconds(1));
}

// As on a node so busy that a compile gets no processor for longer than it may compute.
TEST_F(ZygoteCompilePoolTest, WaitingIsNotComputing) {
  ::setenv("CUBIND_FAULT", "worker.before_compile=sleep:1500", 1);
  config_.cpu_time = seconds(1);
  start();
  submit("a", unit(kQuick));
  EXPECT_EQ(outcome("a"), "ok");
}

// Each zygote dies at its first job: the compile has its second chance, then its client is told.
TEST_F(ZygoteCompilePoolTest, ACompileThatTakesTwoZygotesWithItIsGivenUpAndTheNextOneRuns) {
  for (const char* fault : {"zygote.before_fork=kill", "zygote.after_fork=kill"}) {
    ::setenv("CUBIND_FAULT", fault, 1);
    start();
    submit(fault, unit(kQuick));
    EXPECT_EQ(outcome(fault),
              "unavailable: the compile worker of \"" + toolchains_.front().id + "\" was ended by signal 9");
    EXPECT_EQ(pool_->stats().started, 2u);
    ::unsetenv("CUBIND_FAULT");
    start();
    const auto next = std::string("after ") + fault;
    submit(next, unit(kQuick));
    EXPECT_EQ(outcome(next), "ok");
  }
}

// By then the result is in its pipe.
TEST_F(ZygoteCompilePoolTest, AZygoteThatDiesBeforeItTellsOfAnEndCostsNoCompile) {
  ::setenv("CUBIND_FAULT", "zygote.before_end=kill", 1);
  start();
  submit("whole", unit(kQuick));
  EXPECT_EQ(outcome("whole"), "ok");
  EXPECT_EQ(pool_->stats().started, 1u);
}

TEST_F(ZygoteCompilePoolTest, AChildThatIsKilledIsNotTheSourcesFault) {
  for (const char* fault : {"worker.before_compile=kill", "worker.after_compile=kill"}) {
    ::setenv("CUBIND_FAULT", fault, 1);
    start();
    submit(fault, unit(kQuick));
    EXPECT_EQ(outcome(fault), "resource_exhausted: compile was ended by signal 9, as when memory runs out");
    EXPECT_EQ(pool_->stats().started, 1u);  // the child's end is known: nothing is run again
  }
}
#endif

TEST_F(ZygoteCompilePoolTest, DrainingAnswersTheQueueAndFinishesWhatRuns) {
  config_.workers = 1;
  start();
  const auto running = submit("running", unit(kQuick));
  ASSERT_TRUE(busy(running));
  submit("queued", unit(kQuick));
  pool_->drain();
  EXPECT_EQ(outcome("queued"), "unavailable: the daemon is stopping");
  EXPECT_EQ(outcome("running"), "ok");
  EXPECT_FALSE(pool_->submit(unit(kQuick), Priority::foreground, 0, [](CompileResult) { FAIL(); }).ok());
}

}  // namespace
}  // namespace cubind
