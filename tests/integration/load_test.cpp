// Many clients and much work on a daemon in this process, with a scripted compiler. What is counted does not depend on
// the machine's speed.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/client.hpp"
#include "daemon/compile_queue.hpp"
#include "protocol/limits.hpp"
#include "tests/integration/daemon_in_process.hpp"

namespace cubind::test {
namespace {

// Requests for single kernels, each with another key.
std::vector<KernelsRequest> distinct_kernels(std::size_t most) {
  std::vector<KernelsRequest> all;
  for (const std::uint16_t number : {75, 80, 86, 89, 90, 100, 120}) {
    for (const auto activation : {DType::f16, DType::bf16}) {
      for (const auto zero_point : {ZeroPointKind::none, ZeroPointKind::integer}) {
        for (const std::uint32_t group : {32u, 64u}) {
          GemmDescriptor descriptor;
          descriptor.activation = descriptor.output = descriptor.weight_scale_type = activation;
          descriptor.zero_point = zero_point;
          descriptor.group_k = group;
          const Arch arch{number, '\0'};
          const auto configs = catalogue(descriptor, arch);
          if (!configs.ok()) continue;
          for (const auto& config : *configs) {
            auto request = kernels_request(1);
            request.arch = arch;
            request.kernels.push_back({descriptor, config_name(config)});
            all.push_back(std::move(request));
            if (all.size() == most) return all;
          }
        }
      }
    }
  }
  return all;
}

// Those of one architecture in one request.
std::vector<KernelsRequest> batches(const std::vector<KernelsRequest>& kernels, std::size_t most) {
  std::vector<KernelsRequest> all;
  for (const auto& kernel : kernels) {
    if (all.empty() || all.back().arch != kernel.arch || all.back().kernels.size() == most) {
      all.push_back(kernels_request(all.size() + 1));
      all.back().arch = kernel.arch;
    }
    all.back().kernels.push_back(kernel.kernels.front());
  }
  return all;
}

// A pool with the real queue and one worker, whose compiles end one by one when the test says so.
class OneWorkerPool final : public CompilePool {
 public:
  explicit OneWorkerPool(Executor& executor) : executor_(executor), queue_(limits::kMaxQueuedCompiles) {}

  // Ends the compile that runs, if any; the next one starts before its result goes out, as in the real pool.
  void finish_one() {
    executor_.on_loop([this] {
      const auto id = std::exchange(running_, 0);
      run_next();
      if (id == 0) return;
      ++finished_;
      end(id);
    });
  }
  std::uint64_t finished() const { return finished_; }
  std::uint64_t submitted() const { return submitted_; }

  Result<JobId> submit(CompileUnit unit, Priority priority, std::uint32_t owner, Done done) override {
    const auto id = ++last_id_;
    const auto pushed = queue_.push(id, priority, owner);
    if (!pushed.queued) return Error{ErrorCode::resource_exhausted, "full"};
    jobs_[id] = {std::move(unit), std::move(done)};
    ++submitted_;
    if (running_ == 0) run_next();
    return id;
  }
  void share(JobId id, std::uint32_t owner) override { queue_.share(id, owner); }
  void set_priority(JobId id, Priority priority) override { queue_.set_priority(id, priority); }
  void cancel(JobId) override {}
  bool is_running(JobId id) const override { return id == running_; }
  void drain() override {
    for (const auto id : queue_.jobs()) end(id);
    if (running_ != 0) end(running_);
  }
  CompilePoolStats stats() const override { return {}; }

 private:
  struct Job {
    CompileUnit unit;
    Done done;
  };
  void run_next() {
    running_ = queue_.pop([](JobId) { return true; }).value_or(0);
  }
  void end(JobId id) {
    executor_.on_loop([this, id] {
      const auto job = std::move(jobs_.at(id));
      jobs_.erase(id);
      job.done(ScriptedPool::output_of(job.unit));
    });
  }

  Executor& executor_;
  CompileQueue queue_;
  std::map<JobId, Job> jobs_;
  JobId last_id_ = 0, running_ = 0;
  std::atomic<std::uint64_t> finished_ = 0, submitted_ = 0;
};

struct LoadTest : testing::Test {
  LoadTest() { configure_log(LogLevel::off, LogFormat::text); }

  template <class Condition>
  static void wait_until(Condition condition) {
    for (int tries = 0; !condition(); ++tries) {
      ASSERT_LT(tries, 60'000);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  TempFolder folder;
  Config config = test_config(folder);
};

// Rows A2, A4 and A5 of docs/faults.md.
TEST_F(LoadTest, EightClientsInShuffledOrdersCompileEveryKeyOnce) {
  DaemonInProcess daemon(config, limits::kMaxQueuedCompiles);
  daemon.pool().automatic = true;
  const auto kernels = distinct_kernels(400);
  ASSERT_GE(kernels.size(), 300u);
  std::atomic<std::size_t> answered{0}, wrong{0};
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      auto mine = kernels;
      std::shuffle(mine.begin(), mine.end(), std::mt19937(i));
      // By architecture, or there would be as many batches as kernels; the architectures' order is shuffled too.
      std::stable_sort(mine.begin(), mine.end(), [&](const auto& a, const auto& b) {
        return (a.arch.number * 31 + i * 7) % 17 < (b.arch.number * 31 + i * 7) % 17;
      });
      Caller caller(config.socket_path);
      for (const auto& request : batches(mine, 57)) {
        caller.send(request);
        for (const auto& incoming : caller.all()) {
          if (!std::holds_alternative<KernelReply>(incoming.reply)) continue;
          const auto& kernel = kernel_of(incoming);
          ++answered;
          wrong += kernel.code != ErrorCode::ok || as_text(incoming.code) != "cubin of " + kernel.key.hex();
        }
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(answered, 8 * kernels.size());
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(daemon.pool().submitted(), kernels.size());
}

// Row C8 of docs/faults.md.
TEST_F(LoadTest, FiftyClientsThatConnectWhileItStartsAreServed) {
  std::atomic<int> served{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 50; ++i) {
    clients.emplace_back([&] {
      for (int tries = 0; tries < 5000; ++tries) {
        auto opened = Connection::open(config.socket_path, "test", deadline_after(std::chrono::seconds(20)));
        if (!opened.ok()) {  // not there yet
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          continue;
        }
        if (!opened->send(one_kernel(1), deadline_after(std::chrono::seconds(20)))) return;
        const auto incoming = opened->next(deadline_after(std::chrono::seconds(20)));
        if (incoming.ok() && kernel_of(*incoming).code == ErrorCode::ok) ++served;
        return;
      }
    });
  }
  DaemonInProcess daemon(config);
  daemon.wait_for_jobs(1);
  daemon.pool().succeed_all();  // who comes later has a hit
  for (auto& client : clients) client.join();
  EXPECT_EQ(served, 50);
  EXPECT_EQ(daemon.pool().submitted(), 1u);
}

// Row C9 of docs/faults.md.
TEST_F(LoadTest, TwoDaemonsOnOneNodeKeepApart) {
  auto other = config;
  other.socket_path = folder / "other.sock";
  other.store_root = folder / "other";
  DaemonInProcess first(config), second(other);
  first.pool().automatic = second.pool().automatic = true;
  EXPECT_EQ(kernel_of(Caller(config.socket_path).kernel(one_kernel(1))).outcome, Outcome::built);
  EXPECT_EQ(kernel_of(Caller(other.socket_path).kernel(one_kernel(1))).outcome, Outcome::built);
  EXPECT_EQ(first.pool().submitted(), 1u);
  EXPECT_EQ(second.pool().submitted(), 1u);
  first.stop();
  EXPECT_EQ(kernel_of(Caller(other.socket_path).kernel(one_kernel(1))).outcome, Outcome::hit_memory);
}

TEST_F(LoadTest, APrewarmOfFiveThousandDelaysAMissByTheCompileThatRunsOnly) {
  OneWorkerPool* pool = nullptr;
  App::Substitutes substitutes;
  substitutes.pool = [&](Executor& executor) {
    auto made = std::make_unique<OneWorkerPool>(executor);
    pool = made.get();
    return made;
  };
  substitutes.toolchains = {test_toolchain()};
  substitutes.builder = build_without_reading;
  auto app = App::create(config, std::move(substitutes));
  ASSERT_TRUE(app.ok());
  std::thread thread([&] { (*app)->run(); });

  auto kernels = distinct_kernels(5000);
  const auto missing = kernels.back();
  kernels.pop_back();
  const auto distinct = kernels.size();
  while (kernels.size() < 5000) kernels.push_back(kernels[kernels.size() - distinct]);  // the rest are asked for again
  Caller prewarm(config.socket_path);
  for (auto request : batches(kernels, 1000)) {
    request.mode = RequestMode::prefetch;
    request.priority = Priority::prewarm;
    prewarm.send(request);
    static_cast<void>(prewarm.all());
  }
  wait_until([&] { return pool->submitted() == distinct; });

  Caller client(config.socket_path);
  client.send(missing);
  wait_until([&] { return pool->submitted() == distinct + 1; });
  pool->finish_one();  // the one that was running
  pool->finish_one();  // and the next is what the client waits for
  EXPECT_EQ(Caller::of<KernelReply>(client.all()).at(0).outcome, Outcome::built);
  EXPECT_EQ(pool->finished(), 2u);

  (*app)->stop();
  thread.join();
}

TEST_F(LoadTest, TenThousandKeysInOneRequestAreAllAnswered) {
  DaemonInProcess daemon(config);
  daemon.pool().automatic = true;
  Caller caller(config.socket_path);
  const auto stored = kernel_of(caller.kernel(one_kernel(1))).key;
  auto request = kernels_request(2);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    KernelKey key = stored;
    std::memcpy(key.bytes.data(), &i, sizeof(i));
    request.keys.push_back(i == 5000 ? stored : key);
  }
  caller.send(request);
  const auto all = caller.all();
  std::size_t found = 0, missing = 0;
  for (const auto& kernel : Caller::of<KernelReply>(all)) {
    found += kernel.code == ErrorCode::ok;
    missing += kernel.code == ErrorCode::not_found;
  }
  EXPECT_EQ(found, 1u);
  EXPECT_EQ(missing, 9999u);
  EXPECT_EQ(Caller::of<SummaryReply>(all).at(0).total, 10'000u);
  EXPECT_EQ(caller.counter("cubind_flights"), 0);
}

TEST_F(LoadTest, OneWhoTakesAllConnectionsDoesNotLockTheOthersOut) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  config.max_connections = 16;
  config.socket_mode = 0666;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
  DaemonInProcess daemon(config);
  std::vector<std::unique_ptr<Caller>> greedy;
  for (int i = 0; i < 14; ++i) greedy.push_back(std::make_unique<Caller>(config.socket_path));
  EXPECT_THROW(Caller(config.socket_path), std::runtime_error) << "he has his part";
  const auto child = ::fork();
  if (child == 0) {
    // Only what is safe after a fork: a connection and a question.
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    const auto opened = Connection::open(config.socket_path, "other", deadline_after(std::chrono::seconds(20)));
    ::_exit(opened.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cubind::test
