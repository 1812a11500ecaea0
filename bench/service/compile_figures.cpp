// What a worker's compile costs beside a bare NVRTC program that compiles the same unit with the same options. They
// alternate; both have compiled something small before, as a zygote has.
#include "bench/service/bare_compile.hpp"
#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "codegen/cache_key.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind::bench {

Result<Figures> compile_figures(const Programs& programs, const LayerSpec& layer, std::size_t pairs) {
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "compile"));
  CUBIND_CHECK(daemon.start({}));
  CUBIND_TRY(const auto client, daemon.connect("bench"));
  CUBIND_TRY(const auto configs, catalogue_of(layer));
  const auto& name = configs[configs.size() / 2];

  CUBIND_TRY(const auto toolchains, find_toolchains({daemon.toolchain_path()}, {}));
  CUBIND_TRY(const auto config, config_from_name(layer.descriptor, kArch, name));
  CUBIND_TRY(const auto keyed, make_keyed_unit(layer.descriptor, config, kArch, toolchains.front()));
  Samples ratios, ours, bare;
  bool same_bytes = true;
  const auto by_daemon = [&]() -> Result<KernelInHand> {
    CUBIND_TRY(auto kernel, get_kernel(*client, request_of_kernel({layer.descriptor, name})));
    if (kernel.reply.outcome != Outcome::built || kernel.reply.key != keyed.unit.key) {
      return Error{ErrorCode::internal, "the daemon did not compile the unit that was meant"};
    }
    PurgeRequest purge;
    purge.key = keyed.unit.key;
    CUBIND_TRY([[maybe_unused]] const auto purged, client->purge(purge));
    return kernel;
  };
  const auto by_itself = [&] { return compile_bare(programs, toolchains.front(), keyed.unit); };
  // What changes slowly (the machine's clock, what else runs on it) meets both alike: the two of a pair are next to
  // each other in time, and the pairs take turns in which of them is first.
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const bool bare_first = pair % 2 != 0;
    auto theirs = bare_first ? by_itself() : Result<BareCompile>(BareCompile{});
    CUBIND_CHECK(theirs);
    CUBIND_TRY(const auto kernel, by_daemon());
    if (!bare_first) theirs = by_itself();
    CUBIND_CHECK(theirs);
    same_bytes = same_bytes && theirs->cubin == kernel.code;
    ours.add(kernel.reply.info.compile_ms);
    bare.add(theirs->ms);
    ratios.add(ours.values.back() / bare.values.back());
  }
  CUBIND_CHECK(daemon.stop());
  return Figures{{"compile.ratio", ratios.median(), Figure::Bound::at_most, 1.05,
                  name + "; worker ms " + ours.text(0) + "; bare ms " + bare.text(0) + "; ratio " + ratios.text(3) +
                      (same_bytes ? "; same bytes" : "; the cubins differ"),
                  same_bytes}};
}

}  // namespace cubind::bench
