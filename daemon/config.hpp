// What an operator can set, from the config file and from flags (flags win). One table in config.cpp names every
// setting, its rule and its default for both; systemd/cubind.toml shows them all.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "daemon/peer.hpp"
#include "daemon/tcp_address.hpp"
#include "protocol/limits.hpp"

namespace cubind {

struct Config {
  // [socket]
  std::string socket_path = "/run/cubind/cubind.sock";
  std::uint32_t socket_mode = 0660;
  std::optional<std::uint32_t> socket_gid;  // none: the daemon's own group
  PeerList clients;                         // empty: whoever can connect
  std::size_t max_connections = limits::kMaxConnections;
  // [store]
  std::string store_root = "/var/lib/cubind";
  std::uint64_t memory_limit = limits::kMemoryStoreBytes;
  std::uint64_t disk_limit = limits::kDiskStoreBytes;
  std::uint32_t old_store_days = 30;
  bool allow_any_filesystem = false;
  std::string store_base;  // root of a read-only store below; empty: none
  // [compile]
  std::uint32_t workers = 0;  // 0: as many as cores and memory allow
  std::size_t queue = limits::kMaxQueuedCompiles;
  std::chrono::seconds compile_cpu_time = limits::kCompileCpuTime;
  std::chrono::seconds compile_timeout = limits::kCompileTimeout;
  std::uint64_t compile_memory = limits::kCompileMemoryBytes;
  std::string worker_path;              // empty: cubind-worker beside the daemon
  std::vector<std::string> toolchains;  // libraries or folders; empty: the usual places
  std::vector<std::string> wheel_roots;
  std::string default_toolchain;  // an id; empty: the newest
  // [admin]
  PeerList admins;
  std::chrono::seconds shutdown_grace = limits::kShutdownGrace;
  // [bundle]
  std::vector<std::string> trusted_keys;  // PEM files of public keys
  bool require_signed = false;
  // [metrics]
  std::string metrics_socket;  // "": metrics.sock beside socket_path; "off": none
  std::optional<TcpAddress> metrics_listen;
  // [log]
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::text;
};

// What main does next.
struct CommandLine {
  enum class Action { run, check, print_config, print_and_exit } action = Action::run;
  std::string text;  // for print_and_exit: help or version
  std::string file;  // the config file, if one was named
  Config config;
};

// invalid_argument: one line naming file, line, key, value and rule; or flag, value and rule. Relative paths, unknown
// keys and repeated ones are refused. Names of users and groups are looked up here.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

// The file alone, over the defaults.
Result<Config> load_config(const std::string& file);

// Every setting as a config file that gives the same config.
std::string to_toml(const Config& config);

// What --version prints: version, commit, protocol range, schemas.
std::string version_text();

}  // namespace cubind
