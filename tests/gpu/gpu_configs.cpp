// gpu_configs [--once] [--only TEXT] [--dry-run]: every kernel of every catalogue on the device, also those that the
// planner takes for large layers alone, on a small uneven layer, whole and in two parts along k, for one token, for a
// tile and one more; against the reference in double precision, from poisoned output, twice with the same bits.
//
// --once launches each once: for compute-sanitizer's racecheck. --only takes the formats whose name contains TEXT. Exit
// code 77 and a reason if there is nothing to run on.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "client/loaded_layer.hpp"
#include "tests/support/gpu/gemm_data.hpp"
#include "tests/support/gpu/gpu_daemon.hpp"
#include "tests/support/gpu/whole_catalogue.hpp"

namespace cubind::test {
namespace {

constexpr std::uint32_t kN = 296, kK = 640;  // no multiple of a tile's n, of its k or of all splits
constexpr std::uint32_t kMaxM = 257;         // the largest tile and one more

class ConfigTester {
 public:
  explicit ConfigTester(bool once) : once_(once) {}

  Status format(const std::string& name, Client& client, const cuda::DeviceTarget& device) {
    CUBIND_TRY(const GemmDescriptor descriptor, descriptor_from_name(name));
    const LayerSpec spec{descriptor, kN, kK, kMaxM};
    CUBIND_TRY(const auto catalogue, fetch_catalogue(client, {spec}, device));
    const LayerWeights weights(descriptor, kN, kK, kN + kK);
    const Activations x(descriptor.activation, kMaxM, kK, kK);
    const Reference reference(x, weights, descriptor.activation, kMaxM, kN, kK);
    LaunchArgs args;
    args.ldx = x.ldx();
    args.ldo = kN;
    args.x = x.data();
    args.weights = weights.packed();
    args.scales = weights.scales();
    args.zeros = weights.zeros();
    worst_ = {};
    const int failed_before = failed_;
    for (const PreparedKernelPtr& kernel : catalogue.kernels) {
      for (const std::uint32_t splits : {1u, 2u}) {
        if (splits > (kK + kernel->info.tile_k - 1) / kernel->info.tile_k || !can_split(kernel->info, splits)) continue;
        const auto layer = single_kernel_layer(spec, kernel, splits);
        CUBIND_TRY(const auto loaded, LoadedLayer::load(gpu(), layer, nullptr));
        args.workspace_bytes = layer.workspace_bytes(0);
        const Buffer workspace(args.workspace_bytes + 256);
        workspace.fill(0);
        args.workspace = workspace.data();
        for (const std::uint32_t m : {1u, std::min(kernel->info.tile_m + 1, kMaxM)}) {
          args.m = m;
          const std::string where = kernel->info.name + " splits " + std::to_string(splits) + " m " + std::to_string(m);
          CUBIND_CHECK(launch(*loaded, args, reference, tolerance_of(descriptor.output), where));
        }
      }
    }
    std::printf("%-22s %zu kernels, worst %s%s\n", name.c_str(), catalogue.kernels.size(), worst_.text().c_str(),
                failed_ == failed_before ? "" : "  FAILED");
    std::fflush(stdout);
    return {};
  }

  int failed() const { return failed_; }
  int launches() const { return launches_; }

 private:
  Status launch(const LoadedLayer& layer, LaunchArgs args, const Reference& reference, double tolerance,
                const std::string& where) {
    const Buffer out(std::size_t{args.m + 1} * args.ldo * 2), again(out.bytes());
    for (const Buffer* target : {&out, &again}) {
      if (once_ && target == &again) continue;
      target->fill(0xff);
      args.out = target->data();
      ++launches_;
      CUBIND_CHECK(layer.launch(args));
    }
    GPU(context_synchronize);
    const Judgement judged = reference.judge(out, args.ldo, args.m, nullptr);
    worst_.relative = std::max(worst_.relative, judged.relative);
    worst_.largest = std::max(worst_.largest, judged.largest);
    // One row of a few hundred outputs scatters: up to 1.2 of the tolerance is no fault of a kernel.
    if (!judged.holds(args.m == 1 ? 1.2 * tolerance : tolerance)) fail(where, judged.text());
    if (const auto differ = once_ ? 0 : differing(out, again); differ != 0) {
      fail(where, std::to_string(differ) + " results differ between two launches");
    }
    return {};
  }

  void fail(const std::string& where, const std::string& what) {
    ++failed_;
    std::printf("FAILED %s: %s\n", where.c_str(), what.c_str());
  }

  bool once_;
  Judgement worst_;
  int failed_ = 0, launches_ = 0;
};

Status run(ConfigTester& tester, const std::string& only) {
  CUBIND_TRY(const std::string socket, gpu_daemon_socket());
  const PrimaryContext context;
  load_test_kernels();
  CUBIND_TRY(const cuda::DeviceTarget device, cuda::device_target(gpu(), 0));
  ClientOptions options;
  options.socket_path = socket;
  options.name = "gpu_configs";
  options.connect_deadline = std::chrono::seconds(30);
  CUBIND_TRY(const auto client, Client::open(options));
  for (const char* type : {"bf16", "f16"}) {
    for (const char* scales : {"g32", "g64", "g128", "ch"}) {
      for (const char* zero : {"", "-zp"}) {
        const std::string name = std::string("w4a16-") + type + "-" + scales + zero;
        if (name.find(only) != std::string::npos) CUBIND_CHECK(tester.format(name, *client, device));
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace cubind::test

int main(int argc, char** argv) {
  using namespace cubind::test;
  bool once = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--once") == 0) {
      once = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else if (std::strcmp(argv[i], "--dry-run") == 0) {
      dry_run() = true;
    } else {
      std::fprintf(stderr, "gpu_configs: unknown argument \"%s\"; there are --once, --only TEXT and --dry-run\n",
                   argv[i]);
      return 2;
    }
  }
  if (const std::string reason = no_gpu_reason(); !reason.empty()) {
    std::printf("skipped: %s\n", reason.c_str());
    return kSkipped;
  }
  ConfigTester tester(once);
  if (const auto status = run(tester, only); !status.ok()) {
    std::fprintf(stderr, "gpu_configs: %s\n", to_string(status.error()).c_str());
    return 1;
  }
  std::printf(
      "{\"figure\": \"gpu.configs_failed\", \"value\": %d, \"bound\": 0, \"holds\": %s, "
      "\"detail\": \"%d launches\"}\n",
      tester.failed(), tester.failed() == 0 ? "true" : "false", tester.launches());
  return tester.failed() == 0 ? 0 : 1;
}
