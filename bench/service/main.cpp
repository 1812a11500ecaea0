// cubind-service-bench: measures a real daemon through the client library and prints one JSON object a line for each
// figure. Exit code 0 if all hold, 1 if one does not, 2 if something could not be measured.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"

namespace {

using namespace cubind;
using namespace cubind::bench;
namespace fs = std::filesystem;

constexpr char kUsage[] =
    "usage: cubind-service-bench [--only GROUP]... [--quick] [--daemon FILE] [--worker FILE] [--counter FILE]\n"
    "                            [--nvrtc FILE] [--model FILE] [--scratch FOLDER]\n"
    "Groups: stampede, fleet (with model, boot, hold), hit (with batch), open, compile, crash. Files are found beside\n"
    "this program if not given.\n";

struct Options {
  Programs programs;
  std::vector<std::string> only;
  std::size_t repeats = 7;
  std::size_t blocks = 12;
  std::size_t compile_pairs = 15;
  std::size_t kills_per_step = kKillsPerStep;
};

Result<Options> parse(int argc, char** argv) {
  Options options;
  const std::pair<const char*, std::string*> paths[] = {
      {"--daemon", &options.programs.daemon},   {"--worker", &options.programs.worker},
      {"--counter", &options.programs.counter}, {"--nvrtc", &options.programs.nvrtc},
      {"--model", &options.programs.model},     {"--scratch", &options.programs.scratch}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      options.repeats = 3;
      options.blocks = 4;
      options.compile_pairs = 3;
      options.kills_per_step = 2;
      continue;
    }
    std::string* target = nullptr;
    if (word == "--only") target = &options.only.emplace_back();
    for (const auto& [name, path] : paths) {
      if (word == name) target = path;
    }
    if (target == nullptr) return Error{ErrorCode::invalid_argument, "argument \"" + word + "\" is not known"};
    if (++i == argc) return Error{ErrorCode::invalid_argument, "argument \"" + word + "\" needs a value"};
    *target = argv[i];
  }
  for (const auto& group : options.only) {
    if (group != "stampede" && group != "fleet" && group != "hit" && group != "open" && group != "compile" &&
        group != "crash") {
      return Error{ErrorCode::invalid_argument,
                   "group \"" + group + "\" is not one of stampede, fleet, hit, open, compile, crash"};
    }
  }
  return options;
}

class Report {
 public:
  void add(const Result<Figures>& figures) {
    if (!figures.ok()) {
      std::fprintf(stderr, "cubind-service-bench: %s\n", to_string(figures.error()).c_str());
      measured_ = false;
      return;
    }
    for (const auto& figure : *figures) {
      std::printf("%s\n", to_json(figure).c_str());
      std::fflush(stdout);
      hold_ = hold_ && figure.holds();
    }
  }
  int exit_code() const { return !measured_ ? 2 : hold_ ? 0 : 1; }

 private:
  bool measured_ = true, hold_ = true;
};

// One daemon's store, filled by the fleet, serves everything that needs a warm one.
Status run_fleet_groups(const Options& options, Report& report) {
  CUBIND_TRY(const auto layers, model_layers(options.programs.model));
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(options.programs, "fleet"));
  CUBIND_CHECK(daemon.start({}));
  report.add(fleet_figures(options.programs, daemon, layers, true));
  report.add(model_figures(daemon, layers));
  CUBIND_CHECK(daemon.stop());
  report.add(boot_figures(options.programs, daemon, layers, options.repeats));
  report.add(hit_before_toolchain_figures(daemon, layers));
  return {};
}

Status run(const Options& options, Report& report) {
  const auto wanted = [&](const char* group) {
    if (options.only.empty()) return true;
    for (const auto& only : options.only) {
      if (only == group) return true;
    }
    return false;
  };
  if (wanted("stampede")) report.add(stampede_figures(options.programs, options.repeats));
  if (wanted("fleet")) CUBIND_CHECK(run_fleet_groups(options, report));
  if (wanted("hit")) {
    CUBIND_TRY(const auto layers, model_layers(options.programs.model));
    report.add(hit_figures(options.programs, layers.front(), options.blocks));
  }
  if (wanted("open")) report.add(open_figures(options.programs, options.repeats));
  if (wanted("compile")) {
    CUBIND_TRY(const auto layers, model_layers(options.programs.model));
    report.add(compile_figures(options.programs, layers.front(), options.compile_pairs));
  }
  if (wanted("crash")) {
    CUBIND_TRY(const auto layers, model_layers(options.programs.model));
    report.add(crash_figures(options.programs, layers.front(), options.kills_per_step));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  auto options = parse(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr, "cubind-service-bench: %s\n%s", options.error().message.c_str(), kUsage);
    return 2;
  }
  auto& programs = options->programs;
  std::string own_scratch;
  if (programs.scratch.empty()) {
    own_scratch = (fs::temp_directory_path() / "cubind-bench-XXXXXX").string();
    if (::mkdtemp(own_scratch.data()) == nullptr) {
      std::fprintf(stderr, "cubind-service-bench: no folder \"%s\" can be made\n", own_scratch.c_str());
      return 2;
    }
    programs.scratch = own_scratch;
  }
  Report report;
  auto status = fill_in(programs, fs::read_symlink("/proc/self/exe").parent_path().string());
  if (status.ok()) status = run(*options, report);
  std::error_code ignored;
  if (!own_scratch.empty()) {
    if (status.ok() && report.exit_code() != 2)
      fs::remove_all(own_scratch, ignored);
    else
      std::fprintf(stderr, "cubind-service-bench: stores and logs are kept in %s\n", own_scratch.c_str());
  }
  if (!status.ok()) {
    std::fprintf(stderr, "cubind-service-bench: %s\n", to_string(status.error()).c_str());
    return 2;
  }
  return report.exit_code();
}
