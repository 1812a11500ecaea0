// client.hpp as a C++17 program without exceptions uses it, on the recording libcuda. Exit code 0 if all holds.
#include <cstdio>
#include <cstring>

#include "cubind/client.hpp"
#include "tests/c_abi/scripted_daemon_for_c.h"

namespace cb = cubind::api;

static int failures = 0;
#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                                    \
    }                                                                                \
  } while (false)

static void use(const char* socket) {
  auto options = cb::sized<cubind_client_options>();
  options.socket = socket;
  auto client = cb::Client::open(options);
  EXPECT(client);
  if (!client) return;
  EXPECT(client->health());
  EXPECT(client->stats());
  EXPECT(!client->ready() && !client->ready(false));

  auto gemm = cb::gemm("w4a16-bf16-g128");
  EXPECT(gemm);
  auto layers = client->prepare({cb::layer(*gemm, 6144, 4096, 512), cb::layer(*gemm, 4096, 4096, 512)});
  EXPECT(layers && layers->size() == 2);
  if (!layers) return;
  const cb::Layer first = std::move((*layers)[0]);
  EXPECT(first.rows().size() == 2 && first.kernels().size() == 2);
  EXPECT(first.workspace_bytes() == first.workspace_bytes(512));

  auto loaded = first.load(0);
  EXPECT(loaded);
  if (!loaded) return;
  auto args = cb::sized<cubind_launch_args>();
  const cb::Error refused = loaded->launch(args);
  EXPECT(refused && refused.code() == CUBIND_INVALID_ARGUMENT);
  EXPECT(refused.message().rfind("invalid_argument: m \"0\"", 0) == 0);
  const auto memory = [](std::size_t offset) { return reinterpret_cast<void*>(0x7f0000000000u + offset); };
  args.m = 1;
  args.ldx = 4096;
  args.ldo = 6144;
  args.x = memory(0x1000);
  args.weights = memory(0x2000);
  args.scales = memory(0x3000);
  args.out = memory(0x4000);
  EXPECT(!loaded->launch(args));
  EXPECT(!cb::workspace_init(memory(0x5000), first.workspace_bytes(), nullptr));

  auto prewarm = cb::sized<cubind_prepare_options>();
  prewarm.device = CUBIND_NO_DEVICE;
  prewarm.arch = "sm_90a";
  EXPECT(client->prewarm({cb::layer(*gemm, 6144, 4096, 512)}, prewarm));

  const auto wrong = cb::gemm("nonsense");
  EXPECT(!wrong && wrong.error().code() == CUBIND_INVALID_ARGUMENT);
  const auto absent = [] {
    auto nowhere = cb::sized<cubind_client_options>();
    nowhere.socket = "/nonexistent/cubind.sock";
    return cb::Client::open(nowhere);
  }();
  EXPECT(!absent && absent.error().code() == CUBIND_UNAVAILABLE);
}

int main() {
  scripted_daemon* daemon = scripted_daemon_start();
  use(scripted_daemon_socket(daemon));
  scripted_daemon_stop(daemon);
  return failures == 0 ? 0 : 1;
}
