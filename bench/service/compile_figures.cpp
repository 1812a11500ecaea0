// What a worker's compile costs beside a bare NVRTC program that compiles the same unit with the same options. They
// alternate; both have compiled something small before, as a zygote has.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/kernel_in_hand.hpp"
#include "codegen/cache_key.hpp"
#include "codegen/plan/planner.hpp"

namespace cubind::bench {

namespace {

constexpr std::chrono::milliseconds kPatience{120'000};

// Records of a kind, a name, a size and that many bytes; helpers/bare_nvrtc.cpp reads them.
Status write_unit(const CompileUnit& unit, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  const auto record = [&](const char* kind, std::string_view name, std::string_view text) {
    out << kind << ' ' << name << ' ' << text.size() << '\n' << text << '\n';
  };
  record("source", "-", unit.source);
  for (const auto& option : unit.options) record("option", "-", option);
  for (const auto& [name, text] : unit.headers) record("header", name, text);
  out.close();
  if (!out) return Error{ErrorCode::internal, "\"" + path + "\" cannot be written"};
  return {};
}

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return to_bytes(text);
}

}  // namespace

Result<Figures> compile_figures(const Programs& programs, const LayerSpec& layer, std::size_t repeats) {
  CUBIND_TRY(auto daemon, DaemonUnderTest::prepare(programs, "compile"));
  CUBIND_CHECK(daemon.start({}));
  CUBIND_TRY(const auto client, daemon.connect("bench"));
  CUBIND_TRY(const auto configs, catalogue_of(layer));
  const auto& name = configs[configs.size() / 2];

  CUBIND_TRY(const auto toolchains, find_toolchains({daemon.toolchain_path()}, {}));
  CUBIND_TRY(const auto config, config_from_name(layer.descriptor, kArch, name));
  CUBIND_TRY(const auto keyed, make_keyed_unit(layer.descriptor, config, kArch, toolchains.front()));
  const auto unit_file = programs.scratch + "/unit", cubin_file = programs.scratch + "/cubin";
  CUBIND_CHECK(write_unit(keyed.unit, unit_file));

  ChildProcess::Options how;
  how.stdout_pipe = true;
  Samples ratios, ours, bare;
  bool same_bytes = true;
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    PurgeRequest purge;
    purge.key = keyed.unit.key;
    if (repeat > 0) {
      CUBIND_TRY([[maybe_unused]] const auto purged, client->purge(purge));
    }
    CUBIND_TRY(const auto kernel, get_kernel(*client, request_of_kernel(layer.descriptor, name)));
    if (kernel.reply.outcome != Outcome::built || kernel.reply.key != keyed.unit.key) {
      return Error{ErrorCode::internal, "the daemon did not compile the unit that was meant"};
    }
    CUBIND_TRY(auto process, ChildProcess::start({programs.bare_nvrtc, toolchains.front().nvrtc_path,
                                                  toolchains.front().builtins_path, unit_file, cubin_file},
                                                 how));
    const double bare_ms = std::strtod(process.read_line().c_str(), nullptr);
    process.wait(kPatience);
    if (bare_ms <= 0) return Error{ErrorCode::internal, "\"" + programs.bare_nvrtc + "\" could not compile the unit"};
    same_bytes = same_bytes && read_file(cubin_file) == kernel.code;
    ours.add(kernel.reply.info.compile_ms);
    bare.add(bare_ms);
    ratios.add(ours.values.back() / bare_ms);
  }
  CUBIND_CHECK(daemon.stop());
  return Figures{{"compile.ratio", ratios.median(), Figure::Bound::at_most, 1.05,
                  name + "; worker ms " + ours.text(0) + "; bare ms " + bare.text(0) + "; ratio " + ratios.text(3) +
                      (same_bytes ? "; same bytes" : "; the cubins differ"),
                  same_bytes}};
}

}  // namespace cubind::bench
