// How soon there is an answer after a start: a new process with a restarted daemon, a daemon with a full store, a
// daemon whose compiler is not up yet.
#include <chrono>
#include <cstdio>
#include <thread>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "cache/rocks_store.hpp"
#include "client/connection.hpp"
#include "protocol/gemm_descriptor.hpp"
#include "tests/support/test_artifacts.hpp"

namespace cubind::bench {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::microseconds kConnectPause{200};
constexpr milliseconds kPatience{120'000};  // a compile on a busy machine

double ms_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// Asks a daemon that may not listen yet for the request's one kernel, as often as it takes.
Result<KernelReply> first_kernel(const DaemonUnderTest& daemon, KernelsRequest request) {
  request.id = 1;
  const auto give_up = deadline_after(kPatience);
  for (;;) {
    auto connection = Connection::open(daemon.socket(), "bench", give_up);
    if (!connection.ok()) {
      if (steady_clock::now() >= *give_up) return std::move(connection).error();
      std::this_thread::sleep_for(kConnectPause);
      continue;
    }
    CUBIND_CHECK(connection->send(request, give_up));
    for (;;) {
      CUBIND_TRY(const auto incoming, connection->next(give_up));
      if (const auto* kernel = std::get_if<KernelReply>(&incoming.reply)) {
        if (kernel->code != ErrorCode::ok) return Error{kernel->code, kernel->message};
        return *kernel;
      }
      if (const auto* error = std::get_if<ErrorReply>(&incoming.reply)) return Error{error->code, error->message};
    }
  }
}

Status fill_store(const std::string& root, std::size_t records) {
  RocksStoreOptions options;
  options.root = root;
  options.allow_any_filesystem = true;
  CUBIND_TRY(const auto store, RocksStore::open(options));
  for (std::uint64_t number = 0; number < records; ++number) {
    CUBIND_CHECK(store->put(test_artifact(number, kRecordBytes), test_ingredients(number)));
  }
  return {};
}

}  // namespace

Result<Figures> boot_figures(const Programs& programs, DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers,
                             std::size_t repeats) {
  std::vector<std::string> command = {programs.boot_client, daemon.socket(), to_string(kArch),
                                      std::to_string(kSmCount)};
  for (const auto& layer : layers) {
    command.push_back(short_name(layer.descriptor) + ":" + std::to_string(layer.n) + ":" + std::to_string(layer.k) +
                      ":" + std::to_string(layer.max_m));
  }
  ChildProcess::Options how;
  how.stdout_pipe = true;
  Samples ratios, boots;
  std::string seen;
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    CUBIND_CHECK(daemon.start({}));
    const auto before = daemon.compiles();
    const auto start = steady_clock::now();
    CUBIND_TRY(auto process, ChildProcess::start(command, how));
    CUBIND_TRY(seen, process.read_line(kPatience));  // "KERNELS BYTES SUM_COMPILE_MS", when all are in hand
    const double boot_ms = ms_since(start);
    process.wait(kPatience);
    std::size_t kernels = 0, bytes = 0;
    double compile_ms = 0;
    if (std::sscanf(seen.c_str(), "%zu %zu %lf", &kernels, &bytes, &compile_ms) != 3 || kernels == 0) {
      return Error{ErrorCode::internal, "\"" + programs.boot_client + "\" did not get the kernels"};
    }
    if (daemon.compiles() != before) return Error{ErrorCode::internal, "a restarted daemon compiled again"};
    CUBIND_CHECK(daemon.stop());
    boots.add(boot_ms);
    ratios.add(compile_ms / boot_ms);
    seen = std::to_string(kernels) + " kernels, " + std::to_string(bytes) + " bytes, compiled in " +
           fixed(compile_ms, 0) + " ms in all";
  }
  return Figures{{"boot.ratio", ratios.median(), Figure::Bound::at_least, 200,
                  seen + "; exec of a new process to all of them in hand: ms " + boots.text(1) + "; zero compiles"}};
}

Result<Figures> hit_before_toolchain_figures(DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers) {
  // A kernel that is stored, and one that is not: groups of 32 are another class of kernels than the model's.
  CUBIND_TRY(const auto configs, catalogue_of(layers.front()));
  const auto stored = request_of_kernel({layers.front().descriptor, configs.front()});
  auto other = layers.front().descriptor;
  other.group_k = 32;
  CUBIND_TRY(const auto other_configs, catalogue_of({other, layers.front().n, layers.front().k, 1}));
  const auto cold = request_of_kernel({other, other_configs.front()});

  DaemonUnderTest::Options options;
  options.fault = "worker.start=sleep:" + std::to_string(kToolchainHold.count());
  const auto start = steady_clock::now();
  CUBIND_CHECK(daemon.launch(options));
  CUBIND_TRY(const auto hit, first_kernel(daemon, stored));
  const double hit_ms = ms_since(start);
  CUBIND_TRY(const auto built, first_kernel(daemon, cold));
  const double built_ms = ms_since(start);
  CUBIND_CHECK(daemon.stop());

  const auto hold = static_cast<double>(kToolchainHold.count());
  const bool held = built.outcome == Outcome::built && built_ms > hold;  // else nothing was shown
  const bool was_hit = hit.outcome == Outcome::hit_disk || hit.outcome == Outcome::hit_memory;
  return Figures{{"start.hit_before_toolchain", was_hit && hit_ms < hold, Figure::Bound::equal, 1,
                  "hit after " + fixed(hit_ms, 1) + " ms, a miss after " + fixed(built_ms, 0) + " ms" +
                      (held ? "" : "; the toolchain was not held: a build without fault points?"),
                  held}};
}

Result<Figures> open_figures(const Programs& programs, std::size_t repeats, std::size_t records,
                             const std::string& name) {
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "open"));
  CUBIND_CHECK(fill_store(daemon.store_root(), records));
  // The daemon opens it once before anything is measured: both then meet the same tidy database.
  CUBIND_CHECK(daemon.start({}));
  CUBIND_TRY(const auto client, daemon.connect("bench"));
  CUBIND_TRY(const auto health, client->health());
  CUBIND_CHECK(daemon.stop());

  ChildProcess::Options how;
  how.stdout_pipe = true;
  Samples ratios, ours, bare;
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    const auto number = 17 + repeat * 31 % (records - 17);
    auto request = request_of({});
    request.keys.push_back(test_key(number));
    auto start = steady_clock::now();
    CUBIND_CHECK(daemon.launch({}));
    CUBIND_TRY(const auto kernel, first_kernel(daemon, request));
    ours.add(ms_since(start));
    CUBIND_CHECK(daemon.stop());

    start = steady_clock::now();
    CUBIND_TRY(auto process, ChildProcess::start({programs.bare_rocks, health.store, kernel.key.hex()}, how));
    CUBIND_TRY(const auto line, process.read_line(kPatience));  // {"open_ms": ..., "read_ms": ..., "cubin_bytes": N}
    bare.add(ms_since(start));
    process.wait(kPatience);
    if (line.find("\"cubin_bytes\": " + std::to_string(kRecordBytes) + "}") == std::string::npos) {
      return Error{ErrorCode::internal,
                   "\"" + programs.bare_rocks + "\" did not find the record in \"" + health.store + "\""};
    }
    ratios.add(ours.values.back() / bare.values.back());
  }
  return Figures{{name, ratios.median(), Figure::Bound::at_most, 4,
                  std::to_string(records) + " records of " + std::to_string(kRecordBytes >> 10) +
                      " KB; exec to first hit, ms " + ours.text(1) + "; bare program, ms " + bare.text(1) + "; ratio " +
                      ratios.text(2)}};
}

}  // namespace cubind::bench
