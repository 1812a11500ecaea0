// An engine's boot in one page: ask the daemon for every kernel that a model's layers need, in one request.
//
//   boot_model --format w4a16-bf16-g128-zp --max-m 8192 --arch sm_90a --sm-count 132 qkv_proj:6144:4096
//   o_proj:4096:4096
//   ...
//
// With --arch no GPU and no driver are needed. Without, device 0 is asked what it is, and the kernels are loaded into
// it. Prints one line: the kernels in hand, where they came from, and the time from the start of main.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "cubind/client.hpp"

namespace cb = cubind::api;

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "boot_model: %s\n", message.c_str());
  std::exit(1);
}

template <class T>
T take(cb::Result<T> result) {
  if (!result) fail(result.error().message());
  return std::move(result).value();
}

unsigned number(const std::string& text, const char* what) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value == 0 || value > 1u << 20) {
    fail(std::string(what) + " \"" + text + "\" is not a number from 1 to 1048576");
  }
  return static_cast<unsigned>(value);
}

}  // namespace

int main(int argc, char** argv) {
  const auto start = std::chrono::steady_clock::now();
  std::string format = "w4a16-bf16-g128-zp", arch;
  unsigned max_m = 8192, sm_count = 0;
  std::vector<std::string> specs;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) fail("option \"" + word + "\" needs a value");
      return std::string(argv[++i]);
    };
    if (word == "--format")
      format = value();
    else if (word == "--arch")
      arch = value();
    else if (word == "--max-m")
      max_m = number(value(), "max-m");
    else if (word == "--sm-count")
      sm_count = number(value(), "sm-count");
    else if (word.rfind("--", 0) == 0)
      fail("unknown option \"" + word + "\"");
    else
      specs.push_back(word);
  }
  if (specs.empty()) fail("no layers; each is NAME:N:K");

  const cubind_gemm gemm = take(cb::gemm(format));
  std::vector<cb::LayerDesc> layers;
  for (const auto& spec : specs) {
    const auto first = spec.find(':'), second = spec.rfind(':');
    if (first == std::string::npos || first == second) fail("layer \"" + spec + "\" is not NAME:N:K");
    layers.push_back(cb::layer(gemm, number(spec.substr(first + 1, second - first - 1), "n"),
                               number(spec.substr(second + 1), "k"), max_m));
  }

  auto options = cb::sized<cubind_client_options>();
  options.connect_deadline_ms = 30'000;  // boot beside a daemon that is still starting
  options.name = "boot_model";
  const cb::Client client = take(cb::Client::open(options));

  auto prepare = cb::sized<cubind_prepare_options>();
  if (!arch.empty()) {
    prepare.device = CUBIND_NO_DEVICE;
    prepare.arch = arch.c_str();
    prepare.sm_count = sm_count == 0 ? 132 : sm_count;
  }
  const std::vector<cb::Layer> prepared = take(client.prepare(layers, prepare));

  std::set<std::string> keys;
  unsigned from[5] = {};
  unsigned long long bytes = 0;
  for (const auto& layer : prepared) {
    for (const auto& kernel : layer.kernels()) {
      if (!keys.insert(kernel.key).second) continue;
      if (kernel.outcome < 5) ++from[kernel.outcome];
      bytes += kernel.cubin_bytes;
    }
    if (arch.empty()) take(layer.load(0));
  }
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::printf("kernels=%zu bytes=%llu memory=%u disk=%u compiled=%u joined=%u ms=%.1f\n", keys.size(), bytes, from[1],
              from[2], from[3], from[4], ms);
  return 0;
}
