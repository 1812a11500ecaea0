// A whole daemon in this process: real sockets, threads and store in a temporary folder, with a scripted pool in the
// place of the compile workers.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "client/connection.hpp"
#include "daemon/app.hpp"
#include "tests/support/scripted_kernels.hpp"
#include "tests/support/scripted_pool.hpp"
#include "tests/support/temp_folder.hpp"

namespace cubind::test {

inline Config test_config(const TempFolder& folder) {
  Config config;
  config.socket_path = folder / "cubind.sock";
  config.store_root = folder / "store";
  config.allow_any_filesystem = true;
  config.shutdown_grace = std::chrono::seconds(10);
  return config;
}

class DaemonInProcess {
 public:
  explicit DaemonInProcess(const Config& config, std::size_t max_queue = 1000,
                           std::vector<Toolchain> toolchains = {test_toolchain()}) {
    App::Substitutes substitutes;
    substitutes.pool = [&](Executor& executor) {
      auto made = std::make_unique<ScriptedPool>(executor, max_queue);
      pool_ = made.get();
      return made;
    };
    substitutes.toolchains = std::move(toolchains);
    substitutes.builder = build_without_reading;
    auto app = App::create(config, std::move(substitutes));
    if (!app.ok()) throw std::runtime_error(app.error().message);
    app_ = *std::move(app);
    thread_ = std::thread([this] { app_->run(); });
  }
  ~DaemonInProcess() {
    if (!app_) return;
    app_->stop();
    pool_->succeed_all();  // what a test has left open need not wait for the grace
    stop();
  }

  void begin_stop() { app_->stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    app_->stop();
    thread_.join();
    app_.reset();
  }
  ScriptedPool& pool() { return *pool_; }

  // Returns once the pool has that many jobs.
  void wait_for_jobs(std::size_t count) {
    for (int tries = 0; pool_->jobs() != count; ++tries) {
      ASSERT_LT(tries, 5000) << "the pool has " << pool_->jobs() << " jobs, not " << count;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::unique_ptr<App> app_;
  ScriptedPool* pool_ = nullptr;
  std::thread thread_;
};

// The client's side, over the real socket.
class Caller {
 public:
  explicit Caller(const std::string& socket) : connection_(open(socket)) {}

  void send(const Request& request) {
    const auto sent = connection_.send(request, soon());
    ASSERT_TRUE(sent.ok()) << sent.error().message;
  }
  Incoming next() {
    auto incoming = connection_.next(soon());
    if (!incoming.ok()) throw std::runtime_error(to_string(incoming.error()));
    return *std::move(incoming);
  }
  // Everything up to the request's last reply.
  std::vector<Incoming> all() {
    std::vector<Incoming> heard;
    do {
      heard.push_back(next());
    } while (std::holds_alternative<TableReply>(heard.back().reply) ||
             std::holds_alternative<KernelReply>(heard.back().reply) ||
             std::holds_alternative<ProgressReply>(heard.back().reply) ||
             std::holds_alternative<VerifyReply>(heard.back().reply));
    return heard;
  }
  template <class Kind>
  static std::vector<Kind> of(const std::vector<Incoming>& heard) {
    std::vector<Kind> found;
    for (const auto& one : heard) {
      if (const auto* reply = std::get_if<Kind>(&one.reply)) found.push_back(*reply);
    }
    return found;
  }
  // The one kernel that the request asked for.
  Incoming kernel(const KernelsRequest& request) {
    send(request);
    for (auto& one : all()) {
      if (std::holds_alternative<KernelReply>(one.reply)) return std::move(one);
    }
    throw std::runtime_error("no kernel came");
  }
  double counter(const std::string& name) {
    send(StatsRequest{9999});
    const auto stats = of<StatsReply>(all());
    for (const auto& counter : stats.at(0).counters) {
      if (counter.name == name) return counter.value;
    }
    throw std::runtime_error("no counter " + name);
  }

 private:
  static Deadline soon() { return deadline_after(std::chrono::seconds(20)); }
  static Connection open(const std::string& socket) {
    auto opened = Connection::open(socket, "test", soon());
    if (!opened.ok()) throw std::runtime_error(to_string(opened.error()));
    return *std::move(opened);
  }
  Connection connection_;
};

inline const KernelReply& kernel_of(const Incoming& incoming) {
  return std::get<KernelReply>(incoming.reply);
}

}  // namespace cubind::test
