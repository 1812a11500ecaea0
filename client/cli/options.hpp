// The command line as plain structs: parsed and checked as far as that is possible without reading a file or asking the
// daemon, so that a wrong argument stops everything before anything is done. options.cpp is the only user of CLI11.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "protocol/messages.hpp"

namespace cubind::cli {

// The multiprocessors that plans assume where no device says otherwise: an H200's. Keys do not depend on it.
inline constexpr std::uint32_t kDefaultSmCount = 132;
inline constexpr std::uint32_t kDefaultMaxM = 8192;

struct CommonOptions {
  std::string socket;  // empty = $CUBIND_SOCKET, else /run/cubind/cubind.sock
  bool json = false;
  std::uint32_t deadline_s = 0;  // 0 = the command's own
};

struct PrewarmOptions {
  std::string config;       // path; empty: the trace says what
  std::string trace;        // path of what `trace` wrote
  std::vector<Arch> archs;  // as asked for
  std::uint32_t tp = 1;
  std::uint32_t max_m = kDefaultMaxM;
  std::string dtype;  // empty = the config's
  bool dry_run = false;
  bool wait = true;
  Priority priority = Priority::prewarm;
  ToolchainChoice toolchain;
};

// One kernel: of the catalogue (spec and arch), or of the store (key).
struct KernelChoice {
  KernelKey key;    // zero = by spec
  KernelSpec spec;  // checked against the planner's catalogue
  Arch arch;
  ToolchainChoice toolchain;
};
struct GetOptions {
  KernelChoice kernel;
  std::string output;  // empty = none, "-" = standard output
  bool hit_only = false;
};
struct ExplainOptions {
  KernelChoice kernel;  // by spec
  bool source = false;
  bool nearest = false;
};
struct CanOptions {
  std::string format;
  Arch arch;
  std::uint32_t n = 0, k = 0;  // 0 = any
  std::uint32_t max_m = kDefaultMaxM;
  std::uint32_t sm_count = kDefaultSmCount;
};
struct TuneOptions {
  std::vector<GemmDescriptor> formats;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shapes;  // n, k
  std::vector<std::uint32_t> tokens;                            // ascending
  std::uint32_t device = 0;
  std::string output;  // empty = standard output
};
struct StatsOptions {};
struct HealthOptions {
  bool alive = false;  // a daemon that answers is well enough
};
struct TopOptions {
  std::uint32_t interval_s = 2;
  std::uint32_t count = 0;  // views; 0: one if standard output is no terminal, else until it is interrupted
};
struct ReadyOptions {
  bool off = false;
};
struct ReloadOptions {};
struct TraceOptions {
  std::string output = "-";
};
struct ExportOptions {
  std::string output;
  std::string sign;             // path of a private key; empty: unsigned
  std::vector<KernelKey> keys;  // empty: all
};
struct ImportOptions {
  std::string file;
};
struct ListOptions {};
struct VerifyOptions {
  KernelKey key;  // zero = all
};
struct PurgeOptions {
  KernelKey key;  // zero = all
};

using CommandOptions = std::variant<PrewarmOptions, GetOptions, ExplainOptions, CanOptions, TuneOptions, StatsOptions,
                                    HealthOptions, TopOptions, ReadyOptions, ReloadOptions, TraceOptions, ExportOptions,
                                    ImportOptions, ListOptions, VerifyOptions, PurgeOptions>;

struct Invocation {
  CommonOptions common;
  CommandOptions command;
};

// Text asked for with --help or --version: to be printed, and then success.
struct HelpText {
  std::string text;
};

// invalid_argument or not_supported name the argument, its value and the rule.
Result<std::variant<Invocation, HelpText>> parse_command_line(int argc, const char* const* argv);

}  // namespace cubind::cli
