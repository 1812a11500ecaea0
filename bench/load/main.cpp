// cubind-load-bench: a real daemon under load or under faults; one JSON object a line for each figure, as
// cubind-service-bench prints them. Exit code 0 if all hold, 1 if one does not, 2 if something could not be measured.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "bench/load/load_figures.hpp"

namespace {

using namespace cubind;
using namespace cubind::bench;
namespace fs = std::filesystem;

constexpr char kUsage[] =
    "usage: cubind-load-bench load|faults [--nvrtc FILE] [--quick] [--seconds N] [--kills N]\n"
    "  --quick      a minute instead of an hour: fewer hits, kills and bytes\n"
    "  --seconds N  of mixed load (default 1800)\n"
    "  --kills N    at random moments (default 500)\n";

struct Options {
  std::string what, nvrtc;
  std::size_t hits = 10'000'000, kills = 500, repeats = 5;
  std::uint64_t store_bytes = 2ull << 30;
  std::chrono::seconds steady{1800};
};

bool parse(int argc, char** argv, Options& options) {
  if (argc < 2) return false;
  options.what = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      options.hits = 100'000;
      options.kills = 10;
      options.repeats = 3;
      options.store_bytes = 128 << 20;
      options.steady = std::chrono::seconds(20);
    } else if (word == "--nvrtc" && i + 1 < argc) {
      options.nvrtc = argv[++i];
    } else if (word == "--seconds" && i + 1 < argc) {
      options.steady = std::chrono::seconds(std::strtoul(argv[++i], nullptr, 10));
    } else if (word == "--kills" && i + 1 < argc) {
      options.kills = std::strtoul(argv[++i], nullptr, 10);
    } else {
      return false;
    }
  }
  return options.what == "load" || options.what == "faults";
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
  if (options.what == "load") {
    report(hot_client_figures(programs, options.hits));
    report(connection_figures(programs));
    report(steady_figures(programs, options.steady));
  } else {
    report(open_figures(programs, options.repeats, options.store_bytes / kRecordBytes, "faults.restart_ratio"));
    report(kill_figures(programs, options.kills));
  }
  std::error_code ignored;
  if (exit_code != 2) {
    fs::remove_all(programs.scratch, ignored);
  } else {
    std::fprintf(stderr, "cubind-load-bench: stores and logs are kept in %s\n", programs.scratch.c_str());
  }
  return exit_code;
}
