// prewarm: a model's config in, every kernel that its layers can use compiled and stored; or a trace in, and all that
// was asked for.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "client/cli/progress.hpp"
#include "client/model/model_layers.hpp"
#include "codegen/plan/planner.hpp"
#include "protocol/limits.hpp"
#include "protocol/trace.hpp"

namespace cubind::cli {

namespace {

using nlohmann::ordered_json;

// One kernel that the planner can choose for the model on one architecture.
struct PlannedKernel {
  Arch arch;           // the target that is compiled
  std::string format;  // short name of what its code depends on
  std::string config;
  auto operator<=>(const PlannedKernel&) const = default;
};

// Distinct kernels in catalogue order; also the check that every layer is served on every architecture, before the
// daemon is asked for anything.
Result<std::vector<PlannedKernel>> plan_kernels(const std::vector<ModelLayer>& layers, const std::vector<Arch>& archs,
                                                std::uint32_t max_m) {
  std::vector<PlannedKernel> kernels;
  std::set<PlannedKernel> seen;
  for (const Arch arch : archs) {
    CUBIND_TRY(const Arch code, code_arch(arch));
    for (const auto& layer : layers) {
      const auto configs = reachable(layer.descriptor, code, max_m);
      if (!configs.ok()) {
        return Error{configs.error().code,
                     "layer " + layer.name + " on " + to_string(arch) + ": " + configs.error().message};
      }
      for (const auto& config : *configs) {
        PlannedKernel kernel{code, short_name(canonical(layer.descriptor)), config_name(config)};
        if (seen.insert(kernel).second) kernels.push_back(std::move(kernel));
      }
    }
  }
  return kernels;
}

ordered_json layers_json(const std::vector<ModelLayer>& layers) {
  ordered_json out = ordered_json::array();
  for (const auto& layer : layers) {
    out.push_back({{"name", layer.name}, {"count", layer.count}, {"n", layer.n}, {"k", layer.k}});
  }
  return out;
}

Status print_dry_run(const CommonOptions& common, const std::vector<ModelLayer>& layers,
                     const std::vector<PlannedKernel>& kernels) {
  if (common.json) {
    ordered_json listed = ordered_json::array();
    for (const auto& kernel : kernels) {
      listed.push_back({{"name", kernel.format + "-" + kernel.config},
                        {"arch", to_string(kernel.arch)},
                        {"format", kernel.format},
                        {"config", kernel.config}});
    }
    return print_json({{"layers", layers_json(layers)}, {"kernels", std::move(listed)}});
  }
  std::vector<std::vector<std::string>> rows{{"layer", "count", "n", "k", "format"}};
  for (const auto& layer : layers) {
    rows.push_back({layer.name, std::to_string(layer.count), std::to_string(layer.n), std::to_string(layer.k),
                    short_name(layer.descriptor)});
  }
  std::string text = table(rows) + "\n";
  rows = {{"arch", "kernel"}};
  for (const auto& kernel : kernels) rows.push_back({to_string(kernel.arch), kernel.format + "-" + kernel.config});
  return print_text(text + table(rows));
}

// What all requests of a prewarm have in common.
KernelsRequest basic_request(const PrewarmOptions& options, Arch arch) {
  KernelsRequest request;
  request.arch = arch;
  request.sm_count = kDefaultSmCount;
  request.mode = options.wait ? RequestMode::wait : RequestMode::prefetch;
  request.priority = options.priority;
  request.toolchain = options.toolchain;
  request.launch_abi = kLaunchAbis;
  request.weight_layout = kWeightLayouts;
  request.with_code = false;
  return request;
}

std::vector<KernelsRequest> model_requests(const PrewarmOptions& options, const std::vector<ModelLayer>& layers) {
  std::vector<KernelsRequest> requests;
  for (const Arch arch : options.archs) {
    auto& request = requests.emplace_back(basic_request(options, arch));
    request.whole_catalogue = true;
    for (const auto& layer : layers) request.layers.push_back({layer.descriptor, layer.n, layer.k, options.max_m});
  }
  return requests;
}

// One request for all entries that fit into one. A toolchain that the daemon does not have is replaced by its usual
// one.
std::vector<KernelsRequest> trace_requests(const PrewarmOptions& options, const std::vector<TraceEntry>& entries,
                                           const std::vector<std::string>& toolchains) {
  using Shared = std::tuple<Arch, std::uint32_t, bool, std::string>;
  std::map<Shared, std::vector<KernelsRequest>> groups;
  for (const auto& entry : entries) {
    const bool known = std::find(toolchains.begin(), toolchains.end(), entry.toolchain) != toolchains.end();
    const auto toolchain = known ? entry.toolchain : std::string();
    auto& group = groups[{entry.arch, entry.sm_count, entry.whole_catalogue, toolchain}];
    const bool layer = entry.config.empty();
    if (group.empty() || group.back().layers.size() == limits::kMaxLayersPerRequest ||
        group.back().kernels.size() == limits::kMaxLayersPerRequest) {
      auto& request = group.emplace_back(basic_request(options, entry.arch));
      if (layer) request.sm_count = entry.sm_count;
      request.whole_catalogue = entry.whole_catalogue;
      if (known) request.toolchain = {ToolchainRule::exact, toolchain, 0, {}};
    }
    if (layer) {
      group.back().layers.push_back({entry.descriptor, entry.n, entry.k, entry.max_m});
    } else {
      group.back().kernels.push_back({entry.descriptor, entry.config});
    }
  }
  std::vector<KernelsRequest> requests;
  for (auto& [shared, group] : groups) std::move(group.begin(), group.end(), std::back_inserter(requests));
  return requests;
}

Result<std::vector<TraceEntry>> read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return Error{ErrorCode::not_found, "--from-trace \"" + path + "\" cannot be read"};
  auto entries = parse_trace(text);
  if (!entries.ok()) return Error{entries.error().code, "--from-trace \"" + path + "\": " + entries.error().message};
  return entries;
}

// What became of the kernels of one architecture.
struct ArchResult {
  Arch arch;
  SummaryReply summary;
  std::vector<KernelReply> kernels;
};

ordered_json result_json(const ArchResult& result) {
  ordered_json kernels = ordered_json::array();
  for (const auto& kernel : result.kernels) {
    ordered_json entry{{"key", kernel.key.hex()}, {"code", to_string(kernel.code)}};
    if (kernel.code == ErrorCode::ok) {
      entry["name"] = kernel.info.name;
      entry["outcome"] = to_string(kernel.outcome);
      entry["compile_ms"] = kernel.info.compile_ms;
    } else if (!kernel.message.empty()) {
      entry["message"] = kernel.message;
    }
    kernels.push_back(std::move(entry));
  }
  const auto& s = result.summary;
  return {{"arch", to_string(result.arch)},
          {"total", s.total},
          {"hits_memory", s.hits_memory},
          {"hits_disk", s.hits_disk},
          {"built", s.built},
          {"joined", s.joined},
          {"pending", s.pending},
          {"failed", s.failed},
          {"compile_ms", s.compile_ms},
          {"elapsed_ms", s.elapsed_ms},
          {"kernels", std::move(kernels)}};
}

// What clients on GPUs of that number ask for, where it is not the arch itself (sm_90: sm_90a); else the arch.
Arch asked_by_gpus(Arch arch) {
  if (arch.suffix != '\0') return arch;
  const auto archs = code_archs();
  const Arch specific{arch.number, 'a'};
  return std::find(archs.begin(), archs.end(), specific) == archs.end() ? arch : specific;
}

std::string result_line(const ArchResult& result) {
  const auto& s = result.summary;
  std::string line = to_string(result.arch) + ": " + std::to_string(s.total) +
                     " kernels: " + std::to_string(s.hits_memory + s.hits_disk) + " stored, " +
                     std::to_string(s.built) + " compiled, " + std::to_string(s.joined) + " compiled for others";
  if (s.pending != 0) line += ", " + std::to_string(s.pending) + " pending";
  if (s.failed != 0) line += ", " + std::to_string(s.failed) + " failed";
  line += "; " + seconds_text(s.compile_ms) + " of compiling in " + seconds_text(s.elapsed_ms) + "\n";
  for (const auto& kernel : result.kernels) {
    if (kernel.code == ErrorCode::ok || kernel.code == ErrorCode::pending) continue;
    line += "  " + kernel.key.short_hex() + " " + std::string(to_string(kernel.code)) + ": " +
            printable(kernel.message) + "\n";
  }
  return line;
}

// The error of the whole: of the first kernel that failed, else pending if one is not there yet.
Status verdict(const std::vector<ArchResult>& results, bool wait) {
  std::uint32_t pending = 0;
  for (const auto& result : results) {
    pending += result.summary.pending;
    for (const auto& kernel : result.kernels) {
      if (kernel.code == ErrorCode::ok || kernel.code == ErrorCode::pending) continue;
      return Error{kernel.code, std::to_string(result.summary.failed) + " kernels failed on " + to_string(result.arch) +
                                    ", the first: " + kernel.message};
    }
  }
  if (pending == 0 || !wait) return {};
  return Error{ErrorCode::pending, std::to_string(pending) + " kernels are not ready: the daemon goes on with them"};
}

}  // namespace

Status run(const CommonOptions& common, const PrewarmOptions& options) {
  std::vector<ModelLayer> layers;
  std::vector<TraceEntry> entries;
  if (options.trace.empty()) {
    CUBIND_TRY(const HfConfig config, read_hf_config(options.config));
    auto found = quantized_layers(config, {options.tp, options.dtype});
    if (!found.ok()) return Error{found.error().code, "\"" + options.config + "\": " + found.error().message};
    layers = *std::move(found);
    CUBIND_TRY(const auto kernels, plan_kernels(layers, options.archs, options.max_m));
    if (options.dry_run) return print_dry_run(common, layers, kernels);
  } else {
    CUBIND_TRY(entries, read_trace(options.trace));
    if (options.dry_run) return print_text(std::to_string(entries.size()) + " entries\n");
  }

  CUBIND_TRY(const auto client, open_client(common));
  std::vector<KernelsRequest> requests;
  if (options.trace.empty()) {
    requests = model_requests(options, layers);
  } else {
    CUBIND_TRY(const HealthReply health, client->health());
    requests = trace_requests(options, entries, health.toolchains);
  }
  Progress progress = Progress::to_stderr(common.json);
  std::vector<ArchResult> results;
  for (auto& request : requests) {
    ArchResult result{request.arch, {}, {}};
    KernelsCallbacks callbacks;
    callbacks.kernel = [&](const KernelReply& reply, Bytes) { result.kernels.push_back(reply); };
    callbacks.progress = [&](const ProgressReply& reply) {
      progress.show(to_string(result.arch), reply);
      return true;
    };
    CUBIND_TRY(result.summary,
               client->kernels(std::move(request), callbacks, deadline_of(common, std::chrono::hours(24))));
    results.push_back(std::move(result));
  }
  progress.finish();

  if (common.json) {
    ordered_json archs = ordered_json::array();
    for (const auto& result : results) archs.push_back(result_json(result));
    CUBIND_CHECK(print_json({{"layers", layers_json(layers)}, {"archs", std::move(archs)}}));
  } else {
    std::string text;
    for (const auto& result : results) {
      text += result_line(result);
      const Arch asked = asked_by_gpus(result.arch);
      const auto& made = options.archs;
      if (asked == result.arch || std::find(made.begin(), made.end(), asked) != made.end()) continue;
      text += "  but clients on such GPUs ask for " + to_string(asked) + ": prewarm that\n";
    }
    CUBIND_CHECK(print_text(text));
  }
  return verdict(results, options.wait);
}

}  // namespace cubind::cli
