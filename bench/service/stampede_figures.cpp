// 64 connected processes ask for one cold kernel at the same moment: one compile, one cubin, and nobody waits much
// longer than the compile takes.
#include <algorithm>
#include <chrono>
#include <set>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "bench/service/process_fleet.hpp"

namespace cubind::bench {

namespace {

using std::chrono::system_clock;

struct Receipt {
  std::int64_t at_ns = 0;  // wall clock: the compile's end is a file's time
  double compile_ms = 0;
  Digest sha256;
  bool genuine = false;  // the digest is the one that the daemon announced
};

std::int64_t ns_of(system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

Result<std::vector<Receipt>> stampede(const DaemonUnderTest& daemon, const KernelsRequest& request) {
  return run_fleet<Receipt>(kStampedeProcesses, [&](std::size_t, Race& race, Receipt& receipt) -> Status {
    CUBIND_TRY(const auto client, daemon.connect("stampede"));
    race.start();
    const auto kernel = get_kernel(*client, request);
    receipt.at_ns = ns_of(system_clock::now());
    race.end();
    if (!kernel.ok()) return kernel.error();
    receipt.compile_ms = kernel->reply.info.compile_ms;
    receipt.sha256 = sha256(kernel->code);
    receipt.genuine = receipt.sha256 == kernel->reply.cubin_digest;
    return {};
  });
}

}  // namespace

Result<Figures> stampede_figures(const Programs& programs, std::size_t repeats) {
  CUBIND_TRY(const auto layers, model_layers(programs.model));
  CUBIND_TRY(const auto configs, catalogue_of(layers.front()));
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "stampede"));
  CUBIND_CHECK(daemon.start({}));

  std::uint64_t most_calls = 0;
  std::size_t most_digests = 0;
  bool genuine = true;
  Samples ratios, tails;
  repeats = std::min(repeats, configs.size());
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    const auto before = daemon.compiles();
    CUBIND_TRY(const auto receipts, stampede(daemon, request_of_kernel({layers.front().descriptor, configs[repeat]})));
    most_calls = std::max(most_calls, daemon.compiles() - before);
    std::set<Digest> digests;
    std::int64_t last = 0;
    for (const auto& receipt : receipts) {
      digests.insert(receipt.sha256);
      genuine = genuine && receipt.genuine;
      last = std::max(last, receipt.at_ns);
    }
    most_digests = std::max(most_digests, digests.size());
    const double compile_ms = receipts.front().compile_ms;
    const double tail_ms = static_cast<double>(last - ns_of(daemon.last_compile_ended())) / 1e6;
    tails.add(tail_ms);
    ratios.add(tail_ms / compile_ms);
  }
  CUBIND_CHECK(daemon.stop());

  const auto processes =
      std::to_string(kStampedeProcesses) + " processes, " + std::to_string(repeats) + " cold kernels";
  return Figures{
      {"stampede.nvrtc_calls", static_cast<double>(most_calls), Figure::Bound::equal, 1,
       processes + "; the most for one"},
      {"stampede.distinct_sha256", static_cast<double>(most_digests), Figure::Bound::equal, 1,
       genuine ? processes + "; all as announced" : "a cubin is not the one that was announced", genuine},
      {"stampede.tail_ratio", ratios.median(), Figure::Bound::at_most, 0.10,
       "(last receipt - end of the worker's compile) / compile: " + ratios.text(3) + "; tail ms " + tails.text(1)},
  };
}

}  // namespace cubind::bench
