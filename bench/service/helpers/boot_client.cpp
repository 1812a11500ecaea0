// cubind-bench-boot-client SOCKET ARCH SM_COUNT NAME:N:K:MAX_M...: a new process that wants a model's kernels, with
// the client library alone. Prints "KERNELS BYTES SUM_COMPILE_MS" when all are in hand.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "client/client.hpp"

namespace {

using namespace cubind;

Result<LayerSpec> layer_from(const std::string& text) {
  const auto colon = text.find(':');
  LayerSpec layer;
  CUBIND_TRY(layer.descriptor, descriptor_from_name(text.substr(0, colon)));
  if (colon == std::string::npos ||
      std::sscanf(text.c_str() + colon, ":%u:%u:%u", &layer.n, &layer.k, &layer.max_m) != 3) {
    return Error{ErrorCode::invalid_argument, "layer \"" + text + "\" is not NAME:N:K:MAX_M"};
  }
  return layer;
}

Status run(int argc, char** argv) {
  if (argc < 5) return Error{ErrorCode::invalid_argument, "usage: SOCKET ARCH SM_COUNT NAME:N:K:MAX_M..."};
  ClientOptions options;
  options.socket_path = argv[1];
  options.name = "boot";
  CUBIND_TRY(const auto client, Client::open(options));
  KernelsRequest request;
  CUBIND_TRY(request.arch, arch_from_string(argv[2]));
  request.sm_count = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  request.launch_abi = kLaunchAbis;
  request.weight_layout = kWeightLayouts;
  for (int i = 4; i < argc; ++i) {
    CUBIND_TRY(request.layers.emplace_back(), layer_from(argv[i]));
  }
  std::size_t kernels = 0, bytes = 0;
  double compile_ms = 0;
  Status failed;
  KernelsCallbacks callbacks;
  callbacks.kernel = [&](const KernelReply& reply, const Bytes& code) {
    if (reply.code != ErrorCode::ok) failed = Error{reply.code, reply.message};
    ++kernels;
    bytes += code.size();
    compile_ms += reply.info.compile_ms;
  };
  CUBIND_TRY([[maybe_unused]] const auto summary, client->kernels(request, callbacks));
  CUBIND_CHECK(failed);
  std::printf("%zu %zu %.3f\n", kernels, bytes, compile_ms);
  std::fflush(stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto status = run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "cubind-bench-boot-client: %s\n", to_string(status.error()).c_str());
  return status.ok() ? 0 : 1;
}
