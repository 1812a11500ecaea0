// gpu_runtime [--dry-run]: what a process does with its layers beside computing them: capture into a graph as the very
// first launches and replay, several contexts, two streams at once, fork, and eight processes that start together on
// one daemon, prepare the example model's layers, load and run them. Exit code 77 and a reason if there is nothing to
// run on.
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cubind/client.hpp"
#include "tests/support/gpu/gemm_data.hpp"
#include "tests/support/gpu/gpu_daemon.hpp"

extern char** environ;

namespace cubind::test {
namespace {

namespace cb = cubind::api;

constexpr char kFormat[] = "w4a16-bf16-g128-zp";
constexpr std::uint32_t kMaxM = 512;
constexpr int kProcesses = 8;
// The quantized layers of Llama-3.1-8B on one GPU: qkv, o, gate_up, down.
struct Shape {
  std::uint32_t n, k;
};
constexpr Shape kModel[] = {{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}};

int failures = 0;
void expect(bool condition, const std::string& what) {
  if (condition) return;
  ++failures;
  std::printf("FAILED %s\n", what.c_str());
}

template <class T>
T must(cb::Result<T> result, const char* what) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s: %s\n", what, result.error().message().c_str());
  std::exit(1);
}

cb::Client open_client(const std::string& socket) {
  auto options = cb::sized<cubind_client_options>();
  options.socket = socket.c_str();
  options.connect_deadline_ms = 30'000;
  options.name = "gpu_runtime";
  return must(cb::Client::open(options), "client");
}

std::vector<cb::Layer> prepare_model(const cb::Client& client) {
  const cubind_gemm gemm = must(cb::gemm(kFormat), kFormat);
  std::vector<cb::LayerDesc> descs;
  for (const Shape& shape : kModel) descs.push_back(cb::layer(gemm, shape.n, shape.k, kMaxM));
  return must(client.prepare(descs), "prepare");
}

// A layer with everything a launch needs, in the current context.
struct Ready {
  Ready(const cb::Layer& layer, Shape of, const LayerWeights& its_weights, const Activations& its_x)
      : shape(of),
        weights(its_weights),
        x(its_x),
        loaded(must(layer.load(CUBIND_CURRENT_CONTEXT), "load")),
        workspace_bytes(layer.workspace_bytes()),
        workspace(workspace_bytes + 256),
        out(std::size_t{kMaxM} * of.n * 2) {
    GPU(memset_d8, out.get(), 0xff, out.bytes());
    if (const cb::Error error = cb::workspace_init(workspace.data(), workspace_bytes, nullptr)) {
      expect(false, error.message());
    }
    GPU(context_synchronize);
  }

  cb::Error launch(std::uint32_t m, cubind_stream stream) const {
    auto args = cb::sized<cubind_launch_args>();
    args.m = m;
    args.ldx = x.ldx();
    args.ldo = shape.n;
    args.x = x.data();
    args.weights = weights.packed();
    args.scales = weights.scales();
    args.zeros = weights.zeros();
    args.out = out.data();
    args.workspace = workspace.data();
    args.workspace_bytes = workspace_bytes;
    args.stream = stream;
    return loaded.launch(args);
  }

  Shape shape;
  const LayerWeights& weights;
  const Activations& x;
  cb::LoadedLayer loaded;
  std::size_t workspace_bytes;
  Buffer workspace, out;
};

// The model's data in the primary context.
struct Model {
  Model() {
    const auto descriptor = descriptor_from_name(kFormat);
    for (const Shape& shape : kModel) {
      weights.emplace_back(*descriptor, shape.n, shape.k, shape.n + shape.k);
      x.emplace_back(DType::bf16, kMaxM, shape.k, shape.k);
      references.emplace_back(x.back(), weights.back(), DType::bf16, kMaxM, shape.n, shape.k);
    }
  }
  std::vector<LayerWeights> weights;
  std::vector<Activations> x;
  std::vector<Reference> references;
};

void check(const Ready& ready, const Reference& reference, std::uint32_t m, const std::string& what) {
  const Judgement judged = reference.judge(ready.out, ready.shape.n, m, nullptr);
  expect(judged.holds(tolerance_of(DType::bf16)), what + ": " + judged.text());
}

// Nothing was launched before: a kernel that is not loaded yet would break the capture.
void capture_and_replay(const std::vector<cb::Layer>& layers, const Model& model) {
  const Stream stream;
  for (const std::uint32_t m : {1u, 17u, 512u}) {
    std::vector<Ready> ready;
    ready.reserve(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i)
      ready.emplace_back(layers[i], kModel[i], model.weights[i], model.x[i]);
    const Graph graph(stream, [&] {
      for (const Ready& one : ready) {
        if (const cb::Error error = one.launch(m, stream.get())) expect(false, "capture: " + error.message());
      }
    });
    for (int replay = 0; replay < 3; ++replay) {
      for (const Ready& one : ready) one.out.fill(0xff);
      GPU(context_synchronize);
      graph.launch(stream);
      stream.synchronize();
      for (std::size_t i = 0; i < ready.size(); ++i) {
        check(ready[i], model.references[i], m, "replay " + std::to_string(replay) + " m " + std::to_string(m));
      }
    }
  }
}

void two_streams_at_once(const std::vector<cb::Layer>& layers, const Model& model) {
  const Stream first, second;
  const Ready one(layers[1], kModel[1], model.weights[1], model.x[1]);
  const Ready other(layers[1], kModel[1], model.weights[1], model.x[1]);
  for (int i = 0; i < 50; ++i) {
    if (one.launch(16, first.get()) || other.launch(33, second.get())) expect(false, "launch on two streams");
  }
  first.synchronize();
  second.synchronize();
  check(one, model.references[1], 16, "first of two streams");
  check(other, model.references[1], 33, "second of two streams");
}

// In a second context the pointers of the first are not used: data is copied, and results come back through the host.
void second_context(const std::vector<cb::Layer>& layers, const Model& model, const PrimaryContext& primary) {
  const Ready in_first(layers[1], kModel[1], model.weights[1], model.x[1]);
  expect(!in_first.launch(16, nullptr), "launch in the first context");
  GPU(context_synchronize);
  const auto expected = in_first.out.read<std::uint16_t>(std::size_t{16} * kModel[1].n);
  const auto host = [](const Buffer& buffer) { return buffer.read<std::byte>(buffer.bytes()); };
  const LayerWeights& weights = model.weights[1];
  const auto packed = host(weights.packed_buffer()), scales = host(weights.scales_buffer());
  const auto zeros = host(weights.zeros_buffer());
  std::vector<std::byte> x(std::size_t{16} * model.x[1].ldx() * 2);
  GPU(copy_to_host, x.data(), reinterpret_cast<cuda::DevicePtr>(model.x[1].data()), x.size());

  cuda::Context context = nullptr;
  GPU(context_create, &context, 0u, 0);
  {
    const auto device_copy = [](const std::vector<std::byte>& bytes) {
      Buffer made(bytes.size());
      GPU(copy_to_device, made.get(), bytes.data(), bytes.size());
      return made;
    };
    const Buffer its_packed = device_copy(packed), its_scales = device_copy(scales), its_zeros = device_copy(zeros);
    const Buffer its_x = device_copy(x), out(expected.size() * 2), workspace(layers[1].workspace_bytes() + 256);
    const auto loaded = must(layers[1].load(CUBIND_CURRENT_CONTEXT), "load in the second context");
    expect(!cb::workspace_init(workspace.data(), workspace.bytes(), nullptr), "workspace in the second context");
    auto args = cb::sized<cubind_launch_args>();
    args.m = 16;
    args.ldx = model.x[1].ldx();
    args.ldo = kModel[1].n;
    args.x = its_x.data();
    args.weights = its_packed.data();
    args.scales = its_scales.data();
    args.zeros = its_zeros.data();
    args.out = out.data();
    args.workspace = workspace.data();
    args.workspace_bytes = workspace.bytes();
    const cb::Error error = loaded.launch(args);
    expect(!error, "launch in the second context: " + error.message());
    GPU(context_synchronize);
    expect(dry_run() || out.read<std::uint16_t>(expected.size()) == expected, "both contexts give the same bits");
  }
  GPU(context_destroy, context);
  GPU(context_set_current, primary.get());
  expect(!in_first.launch(16, nullptr), "the first context goes on");
  GPU(context_synchronize);
}

void forked_child_is_refused(const std::vector<cb::Layer>& layers, const Model& model) {
  const Ready ready(layers[0], kModel[0], model.weights[0], model.x[0]);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(ready.launch(1, nullptr).code() == CUBIND_NOT_SUPPORTED ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  expect(status == 0, "a forked child's launch is a typed error");
  expect(!ready.launch(1, nullptr), "the parent goes on after fork");
  GPU(context_synchronize);
}

void run_model(const std::string& socket) {
  const cb::Client client = open_client(socket);
  const auto layers = prepare_model(client);
  const PrimaryContext context;
  const Model model;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Ready ready(layers[i], kModel[i], model.weights[i], model.x[i]);
    for (const std::uint32_t m : {1u, 8u, 64u, 512u}) {
      ready.out.fill(0xff);
      const cb::Error error = ready.launch(m, nullptr);
      expect(!error, error.message());
      GPU(context_synchronize);
      check(ready, model.references[i], m, "layer " + std::to_string(i) + " m " + std::to_string(m));
    }
  }
}

void processes_at_once(const std::string& socket) {
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const std::string program = program_path();
    const char* arguments[] = {program.c_str(), "--child", socket.c_str(), dry_run() ? "--dry-run" : nullptr, nullptr};
    pid_t child = 0;
    if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environ) == 0) {
      children.push_back(child);
    }
  }
  int good = 0;
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    good += status == 0;
  }
  expect(good == kProcesses, std::to_string(good) + " of " + std::to_string(kProcesses) + " processes ran the model");
}

void step(const char* name, const std::function<void()>& body) {
  const int before = failures;
  body();
  std::printf("%-28s %s\n", name, failures == before ? "ok" : "FAILED");
  std::fflush(stdout);
}

int run() {
  if (const std::string reason = no_gpu_reason(); !reason.empty()) {
    std::printf("skipped: %s\n", reason.c_str());
    return kSkipped;
  }
  const auto daemon = gpu_daemon_socket();
  if (!daemon) {
    std::printf("skipped: %s\n", daemon.error().message.c_str());
    return kSkipped;
  }
  step("8 processes, cold", [&] { processes_at_once(*daemon); });
  const cb::Client client = open_client(*daemon);
  const auto layers = prepare_model(client);
  const PrimaryContext context;
  const Model model;
  step("capture and replay", [&] { capture_and_replay(layers, model); });
  step("two streams", [&] { two_streams_at_once(layers, model); });
  step("two contexts", [&] { second_context(layers, model, context); });
  step("fork", [&] { forked_child_is_refused(layers, model); });
  step("8 processes, warm", [&] { processes_at_once(*daemon); });
  std::printf("{\"figure\": \"gpu.runtime_failed\", \"value\": %d, \"bound\": 0, \"holds\": %s, \"detail\": \"\"}\n",
              failures, failures == 0 ? "true" : "false");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cubind::test

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[argc - 1], "--dry-run") == 0) {
    cubind::test::dry_run() = true;
    --argc;
  }
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) {
    cubind::test::run_model(argv[2]);
    return cubind::test::failures == 0 ? 0 : 1;
  }
  if (argc != 1) {
    std::fprintf(stderr, "gpu_runtime: unknown argument \"%s\"; there is --dry-run\n", argv[1]);
    return 2;
  }
  return cubind::test::run();
}
