#include "daemon/app.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "cache/layered_store.hpp"
#include "cache/rocks_store.hpp"
#include "cubind_version.hpp"
#include "daemon/admin.hpp"
#include "daemon/base_layer.hpp"
#include "daemon/config_settings.hpp"
#include "daemon/daemon_sockets.hpp"
#include "daemon/server.hpp"
#include "daemon/systemd_notify.hpp"
#include "daemon/zygote_compile_pool.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

namespace asio = boost::asio;
using ErrorCode_ = boost::system::error_code;

constexpr unsigned kDiskThreads = 4;  // look-ups of a batch overlap; RocksDB and the page cache do the rest

class LoopExecutor final : public Executor {
 public:
  LoopExecutor(asio::io_context& loop, asio::thread_pool& disk) : loop_(loop), disk_(disk) {}
  void on_disk_thread(Work work) override { asio::post(disk_, std::move(work)); }
  void on_loop(Work work) override { asio::post(loop_, std::move(work)); }

 private:
  asio::io_context& loop_;
  asio::thread_pool& disk_;
};

std::string daemon_name() {
  return std::string("cubind ") + CUBIND_VERSION + " (" + CUBIND_COMMIT + ")";
}

std::string worker_beside_us() {
  std::error_code ignored;  // without /proc there is no path, and the pool reports that
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "cubind-worker";
}

// Those that records name but that are not here any more.
std::vector<Toolchain> known_from(const RocksStore& store, const LayeredStore& layers,
                                  const std::vector<Toolchain>& installed) {
  std::vector<Toolchain> known;
  auto identities = store.known_toolchains();
  for (auto& identity : layers.known_toolchains()) identities.push_back(std::move(identity));
  for (const auto& identity : identities) {
    const auto same = [&](const Toolchain& toolchain) { return toolchain.id == identity.id; };
    if (std::any_of(installed.begin(), installed.end(), same)) continue;
    if (std::any_of(known.begin(), known.end(), same)) continue;
    known.push_back(known_toolchain(identity));
  }
  return known;
}

class Daemon final : public App {
 public:
  Daemon(const Config& config, DaemonSockets sockets, std::unique_ptr<RocksStore> store, BaseLayer base,
         std::vector<Toolchain> toolchains, Substitutes substitutes, std::function<Result<Config>()> read_again,
         ImportPolicy imports)
      : config_(config),
        read_again_(std::move(read_again)),
        store_(std::move(store)),
        layered_(*store_, std::move(base.layers)),
        memory_(config.memory_limit),
        executor_(loop_, disk_),
        planner_(toolchains, known_from(*store_, layered_, toolchains), config.default_toolchain),
        pool_(make_pool(substitutes)),
        service_(service_parts(std::move(substitutes.builder))),
        admin_({service_, planner_, memory_, layered_, *pool_, metrics_, clock_, daemon_name(), store_->folder(),
                std::move(base.trouble)}),
        session_parts_{service_,
                       planner_,
                       admin_,
                       layered_,
                       memory_,
                       *pool_,
                       executor_,
                       metrics_,
                       clock_,
                       AccessRules(::geteuid(), config.admins, config.clients),
                       daemon_name(),
                       [this] { return reload(); },
                       std::move(imports),
                       config.store_root,
                       {}},
        signals_(loop_),
        upkeep_(loop_),
        watchdog_(loop_),
        grace_(loop_),
        server_(start_server(loop_, std::move(sockets.clients), config.max_connections, session_parts_)),
        metrics_http_(start_metrics_http(
            loop_, std::move(sockets.metrics),
            {[this] { return admin_.measure(); }, [this] { return admin_.health(HealthRequest{}); }})) {
    executor_.on_disk_thread([this] { remember_toolchains(); });
  }

  ~Daemon() override {  // sessions and disk work first: they refer to all the rest
    server_.reset();
    disk_.join();
  }

  void run() override {
    log(LogLevel::info, "start",
        {{"version", CUBIND_VERSION},
         {"commit", CUBIND_COMMIT},
         {"pid", ::getpid()},
         {"store", store_->folder()},
         {"toolchains", planner_.installed().size()},
         {"workers", pool_->stats().workers}});
    if (planner_.installed().empty()) {
      log(LogLevel::warn, "no_toolchain", {{"then", "only kernels that are stored can be had"}});
    }
    report_store();
    systemd::notify_ready("serving, " + std::to_string(planner_.installed().size()) + " toolchains");
    keep_up();
    if (const auto interval = systemd::watchdog_interval()) feed_watchdog(*interval);

    loop_.run();  // until finished() stops it

    metrics_http_.reset();
    server_.reset();
    disk_.join();
    log(LogLevel::info, "stop", {{"pid", ::getpid()}});
  }

  void stop() override {
    asio::post(loop_, [this] { drain("asked"); });
  }

  void handle_signals() override {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.add(signal);
    wait_for_signal();
  }

 private:
  std::unique_ptr<CompilePool> make_pool(const Substitutes& substitutes) {
    if (substitutes.pool) return substitutes.pool(executor_);
    CompilePoolConfig config;
    config.worker_path = config_.worker_path.empty() ? worker_beside_us() : config_.worker_path;
    config.workers = config_.workers;
    config.max_queue = config_.queue;
    config.cpu_time = config_.compile_cpu_time;
    config.timeout = config_.compile_timeout;
    config.memory_bytes = config_.compile_memory;
    return std::make_unique<ZygoteCompilePool>(loop_, planner_.installed(), config);
  }

  KernelService::Parts service_parts(KernelService::Builder builder) {
    KernelService::Parts parts{memory_, layered_, *pool_, executor_, clock_, metrics_};
    if (builder) parts.build = std::move(builder);
    return parts;
  }

  void remember_toolchains() {
    for (const auto& toolchain : planner_.installed()) {
      const auto status = store_->remember_toolchain({toolchain.id, toolchain.major, toolchain.minor, toolchain.patch,
                                                      toolchain.build_id, toolchain.builtins_build_id});
      if (!status.ok()) {
        log(LogLevel::warn, "toolchain_not_remembered", {{"id", toolchain.id}, {"error", to_string(status.error())}});
      }
    }
  }

  // ---- what comes round

  void keep_up() {
    upkeep_.expires_after(limits::kUsageFlush);
    upkeep_.async_wait([this](ErrorCode_ error) {
      if (error) return;
      executor_.on_disk_thread([this] {
        if (const auto status = store_->tick(); !status.ok()) {
          log(LogLevel::warn, "store_upkeep", {{"error", to_string(status.error())}, {"then", "trying again"}});
        }
        executor_.on_loop([this] {
          report_store();
          if (!draining_) keep_up();
        });
      });
    });
  }

  // One line when the store's state changes, not one for each request that meets it.
  void report_store() {
    const auto stats = store_->stats();
    if (stats.set_aside > store_set_aside_) {
      log(LogLevel::warn, "store_set_aside",
          {{"folder", store_->folder() + ".damaged"}, {"then", "it could not be read; a new one was begun"}});
    }
    if (stats.degraded != store_degraded_) {
      log(stats.degraded ? LogLevel::warn : LogLevel::info, stats.degraded ? "store_degraded" : "store_recovered",
          {{"reason", stats.degraded ? stats.reason : "it takes records again"}});
    }
    store_set_aside_ = stats.set_aside;
    store_degraded_ = stats.degraded;
  }

  void feed_watchdog(std::chrono::milliseconds interval) {  // from the loop: what it proves is that the loop turns
    systemd::notify_watchdog();
    watchdog_.expires_after(interval);
    watchdog_.async_wait([this, interval](ErrorCode_ error) {
      if (!error) feed_watchdog(interval);
    });
  }

  void wait_for_signal() {
    signals_.async_wait([this](ErrorCode_ error, int signal) {
      if (error) return;
      if (signal == SIGHUP) {
        static_cast<void>(reload());  // what came of it is in the log
      } else if (draining_) {
        log(LogLevel::warn, "stop", {{"reason", "a second signal"}, {"then", "ends at once"}});
        ::_exit(1);
      } else {
        drain(signal == SIGTERM ? "SIGTERM" : "SIGINT");
      }
      wait_for_signal();
    });
  }

  // ---- reload: what can change while requests are served does so at once

  Result<std::string> reload() {
    if (!read_again_) return Error{ErrorCode::not_supported, "this daemon was started without a config to read again"};
    const auto read = read_again_();
    if (!read.ok()) {
      log(LogLevel::error, "reload", {{"error", read.error().message}, {"then", "the config stays as it was"}});
      return read.error();
    }
    std::string applied, waiting;
    for (const auto& setting : settings()) {
      const auto wanted = setting.get(*read);
      if (wanted == setting.get(config_)) continue;
      auto& list = setting.live ? applied : waiting;
      list += (list.empty() ? "" : ", ") + std::string(setting.key);
      if (setting.live) static_cast<void>(setting.set(config_, wanted));  // it was checked when it was read
    }
    configure_log(config_.log_level, config_.log_format);
    memory_.set_max_bytes(config_.memory_limit);
    store_->set_max_bytes(config_.disk_limit);
    server_->set_max_connections(config_.max_connections);
    session_parts_.access = AccessRules(::geteuid(), config_.admins, config_.clients);
    log(LogLevel::info, "reload", {{"applied", applied}, {"needs_restart", waiting}});
    if (applied.empty() && waiting.empty()) return std::string("nothing has changed");
    return (applied.empty() ? "" : "applied: " + applied) + (applied.empty() || waiting.empty() ? "" : "; ") +
           (waiting.empty() ? "" : "needs a restart: " + waiting);
  }

  // ---- the end: nothing new, what runs is answered, then the loop stops

  void drain(const char* reason) {
    if (draining_) return;
    draining_ = true;
    log(LogLevel::info, "stopping",
        {{"reason", reason},
         {"flights", service_.flights()},
         {"connections", metrics_.connections_open},
         {"grace_s", static_cast<std::int64_t>(config_.shutdown_grace.count())}});
    systemd::notify_stopping();
    CUBIND_FAULT_POINT("daemon.drain");
    server_->stop_accepting();
    upkeep_.cancel();
    service_.drain([this] {
      flights_done_ = true;
      finish_if_done();
      give_up_after(limits::kDrainFlush, [this] { server_->close_sessions(); });  // slow readers
    });
    server_->end_sessions([this] {
      sessions_gone_ = true;
      finish_if_done();
    });
    give_up_after(config_.shutdown_grace, [this] {
      log(LogLevel::warn, "grace_over", {{"flights", service_.flights()}, {"then", "running compiles are cancelled"}});
      service_.cancel_running();
      give_up_after(limits::kDrainFlush, [this] { loop_.stop(); });
    });
  }

  template <class Then>
  void give_up_after(std::chrono::seconds pause, Then then) {
    if (flights_done_ && sessions_gone_) return;
    grace_.expires_after(pause);  // replaces the one before
    grace_.async_wait([then](ErrorCode_ error) {
      if (!error) then();
    });
  }

  void finish_if_done() {
    if (flights_done_ && sessions_gone_) loop_.stop();
  }

  Config config_;  // as it holds: a setting that needs a restart keeps its old value
  std::function<Result<Config>()> read_again_;
  SystemClock clock_;
  Metrics metrics_;
  std::unique_ptr<RocksStore> store_;
  LayeredStore layered_;
  MemoryStore memory_;
  asio::io_context loop_{1};
  asio::thread_pool disk_{kDiskThreads};
  LoopExecutor executor_;
  RequestPlanner planner_;
  std::unique_ptr<CompilePool> pool_;
  KernelService service_;
  Admin admin_;
  SessionLogic::Parts session_parts_;
  asio::signal_set signals_;
  asio::steady_timer upkeep_, watchdog_, grace_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<MetricsHttp> metrics_http_;
  bool draining_ = false, flights_done_ = false, sessions_gone_ = false;
  std::uint64_t store_set_aside_ = 0;  // as last reported
  bool store_degraded_ = false;
};

}  // namespace

Result<std::unique_ptr<App>> App::create(const Config& config, Substitutes substitutes,
                                         std::function<Result<Config>()> read_again) {
  CUBIND_FAULT_POINT("daemon.start");
  CUBIND_TRY(auto sockets, take_sockets(config));  // first: who connects from here on waits instead of failing

  make_room_for_descriptors(config.max_connections);
  ImportPolicy imports{{}, config.require_signed};
  for (const auto& file : config.trusted_keys) {
    CUBIND_TRY(auto key, read_public_key(file));
    imports.trusted.push_back(key);
  }

  RocksStoreOptions options;
  options.root = config.store_root;
  options.max_bytes = config.disk_limit;
  options.allow_any_filesystem = config.allow_any_filesystem;
  options.old_store_days = config.old_store_days;
  CUBIND_TRY(auto store, RocksStore::open(options));

  std::vector<Toolchain> toolchains;
  if (substitutes.toolchains) {
    toolchains = *std::move(substitutes.toolchains);
  } else {
    CUBIND_TRY(toolchains, find_toolchains(config.toolchains, config.wheel_roots));
  }
  return std::unique_ptr<App>(std::make_unique<Daemon>(
      config, std::move(sockets), std::move(store), open_base(config.store_base), std::move(toolchains),
      std::move(substitutes), std::move(read_again), std::move(imports)));
}

}  // namespace cubind
