#include "tests/nvrtc/kernels.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <tuple>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/nvrtc/nvrtc_program.hpp"
#include "codegen/nvrtc/options.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind {

namespace {
unsigned processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

const NvrtcApi& api() {
  static const NvrtcApi opened = [] {
    const auto& toolchain = test_toolchain();
    auto result = NvrtcApi::open(toolchain.nvrtc_path, toolchain.builtins_path);
    if (!result.ok()) std::fprintf(stderr, "%s\n", to_string(result.error()).c_str()), std::exit(1);
    return *result;
  }();
  return opened;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written <= 0) ::_exit(1);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int fd) {
  std::string text;
  char piece[65536];
  for (ssize_t got = 0; (got = ::read(fd, piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  return text;
}
}  // namespace

const Toolchain& test_toolchain() {
  static const Toolchain found = [] {
    auto toolchains = find_toolchains({CUBIND_TEST_NVRTC}, {});
    if (!toolchains.ok() || toolchains->empty()) std::fputs("no NVRTC on this machine\n", stderr), std::exit(1);
    return toolchains->front();
  }();
  return found;
}

bool full_run() {
  const char* full = std::getenv("CUBIND_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

std::vector<KernelCase> all_kernels() {
  std::vector<KernelCase> kernels;
  for (const auto arch : code_archs()) {
    for (const char* format : {"w4a16-f16-g32", "w4a16-f16-g32-zp", "w4a16-f16-g64", "w4a16-f16-g64-zp",
                               "w4a16-bf16-g32", "w4a16-bf16-g32-zp", "w4a16-bf16-g64", "w4a16-bf16-g64-zp"}) {
      const auto descriptor = descriptor_from_name(format);
      if (!descriptor.ok()) continue;
      const auto configs = catalogue(*descriptor, arch);
      if (!configs.ok()) continue;  // bf16 on sm_75
      for (const auto& config : *configs) {
        kernels.push_back({*descriptor, config, arch, to_string(arch) + " " + format + " " + config_name(config)});
      }
    }
  }
  return kernels;
}

std::vector<KernelCase> pairwise(const std::vector<KernelCase>& kernels) {
  // A kernel's values as (factor, value), then all pairs of those: chosen greedily, the most new pairs first.
  using Pair = std::tuple<int, int, int, int>;
  std::vector<std::set<Pair>> pairs_of;
  int place = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto& k = kernels[i];
    const bool same_catalogue = i > 0 && kernels[i - 1].arch == k.arch && kernels[i - 1].descriptor == k.descriptor;
    place = same_catalogue ? place + 1 : 0;
    const int values[] = {k.arch.number << 8 | k.arch.suffix, static_cast<int>(k.config.activation),
                          k.config.zero_points ? 1 : 0, static_cast<int>(k.config.scale_class), place};
    std::set<Pair> pairs;
    for (int a = 0; a < 5; ++a) {
      for (int b = a + 1; b < 5; ++b) pairs.emplace(a, values[a], b, values[b]);
    }
    pairs_of.push_back(std::move(pairs));
  }
  std::set<Pair> covered;
  std::vector<KernelCase> chosen;
  while (true) {
    std::size_t best = 0, best_new = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      std::size_t fresh = 0;
      for (const auto& pair : pairs_of[i]) fresh += covered.contains(pair) ? 0 : 1;
      if (fresh > best_new) best = i, best_new = fresh;
    }
    if (best_new == 0) return chosen;
    covered.insert(pairs_of[best].begin(), pairs_of[best].end());
    chosen.push_back(kernels[best]);
  }
}

CompileResult compile(const std::string& source,
                      const std::vector<std::pair<std::string_view, std::string_view>>& headers,
                      const std::vector<std::string>& options) {
  const std::vector<std::pair<std::string, std::string>> owned(headers.begin(), headers.end());
  auto program = NvrtcProgram::create(api(), kProgramName, source, owned);
  if (!program.ok()) return program.error();
  if (const auto compiled = program->compile(options); !compiled.ok()) {
    CompileResult failed(compiled.error());
    failed.failure_log = program->log();
    return failed;
  }
  CompileOutput output;
  output.log = program->log();
  if (auto cubin = program->cubin(); cubin.ok()) output.cubin = std::move(*cubin);
  return output;
}

std::vector<std::string> on_all_processors(std::size_t count, const std::function<std::string(std::size_t)>& work) {
  api();  // loaded once, shared by the children
  const std::size_t processes = processors();
  std::vector<std::pair<pid_t, int>> children;
  for (std::size_t child = 0; child < processes; ++child) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const auto pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      for (auto i = child; i < count; i += processes) {
        auto text = work(i);
        text += '\0';
        write_all(ends[1], text);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    children.emplace_back(pid, ends[0]);
  }
  std::vector<std::string> results(count, "died");
  for (std::size_t child = 0; child < processes; ++child) {
    const auto all = read_all(children[child].second);
    ::close(children[child].second);
    ::waitpid(children[child].first, nullptr, 0);
    std::size_t at = 0;
    for (auto i = child; i < count; i += processes) {
      const auto end = all.find('\0', at);
      if (end == std::string::npos) break;
      results[i] = all.substr(at, end - at);
      at = end + 1;
    }
  }
  return results;
}

}  // namespace cubind
