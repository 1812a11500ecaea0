// cubind-load-bench: a real daemon under load or under faults; one JSON object a line for each figure, as
// cubind-service-bench prints them. Exit code 0 if all hold, 1 if one does not, 2 if something could not be measured.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include <unistd.h>

#include "bench/load/load_figures.hpp"
#include "bench/service/example_model.hpp"

namespace {

using namespace cubind;
using namespace cubind::bench;
namespace fs = std::filesystem;

constexpr char kUsage[] =
    "usage: cubind-load-bench load|faults [--nvrtc FILE] [--quick] [--seconds N] [--kills N] [--only GROUP]\n"
    "  --quick       two minutes instead of an hour: fewer hits, kills and bytes\n"
    "  --seconds N   of mixed load (default 1800)\n"
    "  --kills N     at random moments (default 500)\n"
    "  --only GROUP  of load: hits connections steady; of faults: restart kills steps\n";

struct Options {
  std::string what, nvrtc, only;
  std::size_t hits = 10'000'000, kills = 500, kills_per_step = kKillsPerStep, repeats = 5;
  std::uint64_t store_bytes = 2ull << 30;
  std::chrono::seconds steady{1800};
};

struct Group {
  std::string_view what, name;
  Result<Figures> (*measure)(const Programs&, const Options&);
};

constexpr Group kGroups[] = {
    {"load", "hits", [](const Programs& p, const Options& o) { return hot_client_figures(p, o.hits); }},
    {"load", "connections", [](const Programs& p, const Options&) { return connection_figures(p); }},
    {"load", "steady", [](const Programs& p, const Options& o) { return steady_figures(p, o.steady); }},
    {"faults", "restart",
     [](const Programs& p, const Options& o) {
       return open_figures(p, o.repeats, o.store_bytes / kRecordBytes, "faults.restart_ratio");
     }},
    {"faults", "steps",
     [](const Programs& p, const Options& o) -> Result<Figures> {
       CUBIND_TRY(const auto layers, model_layers(p.model));
       return crash_figures(p, layers.front(), o.kills_per_step);
     }},
    {"faults", "kills", [](const Programs& p, const Options& o) { return kill_figures(p, o.kills); }},
};

bool parse(int argc, char** argv, Options& options) {
  if (argc < 2) return false;
  options.what = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      options.hits = 100'000;
      options.kills = 10;
      options.kills_per_step = 1;
      options.repeats = 3;
      options.store_bytes = 128 << 20;
      options.steady = std::chrono::seconds(20);
    } else if (word == "--nvrtc" && i + 1 < argc) {
      options.nvrtc = argv[++i];
    } else if (word == "--seconds" && i + 1 < argc) {
      options.steady = std::chrono::seconds(std::strtoul(argv[++i], nullptr, 10));
    } else if (word == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (word == "--kills" && i + 1 < argc) {
      options.kills = std::strtoul(argv[++i], nullptr, 10);
    } else {
      return false;
    }
  }
  return std::any_of(std::begin(kGroups), std::end(kGroups), [&](const Group& group) {
    return options.what == group.what && (options.only.empty() || options.only == group.name);
  });
}

int exit_code = 0;

void report(const Result<Figures>& figures) {
  if (!figures.ok()) {
    std::fprintf(stderr, "cubind-load-bench: %s\n", to_string(figures.error()).c_str());
    exit_code = 2;
    return;
  }
  for (const auto& figure : *figures) {
    std::printf("%s\n", to_json(figure).c_str());
    std::fflush(stdout);
    if (!figure.holds()) exit_code = std::max(exit_code, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  Programs programs;
  programs.nvrtc = options.nvrtc;
  programs.scratch = (fs::temp_directory_path() / "cubind-load-XXXXXX").string();
  if (::mkdtemp(programs.scratch.data()) == nullptr) {
    std::fprintf(stderr, "cubind-load-bench: no folder \"%s\" can be made\n", programs.scratch.c_str());
    return 2;
  }
  const auto found = fill_in(programs, fs::read_symlink("/proc/self/exe").parent_path().string());
  if (!found.ok()) {
    std::fprintf(stderr, "cubind-load-bench: %s\n", to_string(found.error()).c_str());
    return 2;
  }
  for (const auto& group : kGroups) {
    if (options.what == group.what && (options.only.empty() || options.only == group.name)) {
      report(group.measure(programs, options));
    }
  }
  std::error_code ignored;
  if (exit_code != 2) {
    fs::remove_all(programs.scratch, ignored);
  } else {
    std::fprintf(stderr, "cubind-load-bench: stores and logs are kept in %s\n", programs.scratch.c_str());
  }
  return exit_code;
}
