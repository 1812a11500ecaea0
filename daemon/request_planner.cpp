#include "daemon/request_planner.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "codegen/cache_key.hpp"
#include "codegen/plan/planner.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"
#include "protocol/trace.hpp"

namespace cubind {

namespace {

// Remembered plans: a node serves a few models at a time, each with some tens of layer shapes.
constexpr std::size_t kRememberedLayers = 4096;
constexpr std::size_t kRememberedKernels = 4096;

std::string quoted(const auto& value) {
  return "\"" + std::to_string(value) + "\"";
}

Error in(const std::string& where, Error error) {
  error.message = where + ": " + error.message;
  return error;
}

Status check_version(const char* name, const VersionRange& understood, std::uint32_t made) {
  if (understood.min <= made && made <= understood.max) return {};
  const bool client_is_old = understood.max < made;
  return Error{ErrorCode::not_supported, std::string(name) + " " + quoted(made) +
                                             " is what this daemon makes, the client understands " +
                                             std::to_string(understood.min) + " to " + std::to_string(understood.max) +
                                             ": the " + (client_is_old ? "client" : "daemon") + " is old"};
}

Status check_range(const char* name, std::uint32_t value, std::uint32_t most) {
  if (value >= 1 && value <= most) return {};
  return Error{ErrorCode::invalid_argument,
               std::string(name) + " " + quoted(value) + " is not in 1.." + std::to_string(most)};
}

Status check_layer(const LayerSpec& layer) {
  CUBIND_CHECK(check_range("n", layer.n, limits::kMaxNK));
  CUBIND_CHECK(check_range("k", layer.k, limits::kMaxNK));
  CUBIND_CHECK(check_range("max_m", layer.max_m, limits::kMaxM));
  CUBIND_CHECK(validate(layer.descriptor));
  return validate_shape(layer.descriptor, layer.n, layer.k);
}

std::vector<Toolchain> concatenated(std::vector<Toolchain> first, std::vector<Toolchain> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
  return first;
}

}  // namespace

Toolchain known_toolchain(const ToolchainIdentity& identity) {
  Toolchain toolchain;
  toolchain.id = identity.id;
  toolchain.major = identity.major;
  toolchain.minor = identity.minor;
  toolchain.patch = identity.patch;
  toolchain.build_id = identity.build_id;
  toolchain.builtins_build_id = identity.builtins_build_id;
  return toolchain;
}

RequestPlanner::RequestPlanner(std::vector<Toolchain> installed, std::vector<Toolchain> known, std::string configured)
    : installed_(std::move(installed)),
      all_(concatenated(installed_, std::move(known))),
      configured_(std::move(configured)),
      layers_(kRememberedLayers),
      kernels_(kRememberedKernels) {
  all_.reserve(all_.size() + kMaxLearned);
}

void RequestPlanner::learn(Toolchain toolchain) {
  const auto same = [&](const Toolchain& known) { return known.id == toolchain.id; };
  if (std::any_of(all_.begin(), all_.end(), same) || all_.size() == all_.capacity()) return;
  toolchain.installed = false;
  all_.push_back(std::move(toolchain));
}

Result<PlannedRequest> RequestPlanner::plan(const KernelsRequest& request) {
  if (request.layers.empty() && request.kernels.empty() && request.keys.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "layers \"\", kernels \"\" and keys \"\": one of them must name something"};
  }
  if (request.layers.size() > limits::kMaxLayersPerRequest) {
    return Error{ErrorCode::invalid_argument, "layers " + quoted(request.layers.size()) + " are more than " +
                                                  std::to_string(limits::kMaxLayersPerRequest)};
  }
  PlannedRequest planned;
  const Toolchain* toolchain = nullptr;
  if (!request.layers.empty() || !request.kernels.empty()) {
    CUBIND_CHECK(check_version("weight_layout", request.weight_layout, kWeightLayout));
    CUBIND_TRY(toolchain, choose_toolchain(all_, request.toolchain, configured_));
  }

  std::unordered_set<KernelKey, DigestHash> seen;
  const auto add = [&](const std::vector<KernelRef>& kernels) {
    for (const auto& kernel : kernels) {
      if (seen.insert(kernel->key).second) planned.kernels.push_back(kernel);
    }
  };
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    const auto& spec = request.layers[i];
    const auto where = [i] { return "layer " + std::to_string(i); };
    const Question question{spec.descriptor,
                            request.arch,
                            toolchain,
                            request.sm_count,
                            spec.n,
                            spec.k,
                            spec.max_m,
                            request.whole_catalogue,
                            ""};
    if (layers_.get(question) == nullptr) {  // what is remembered has been checked
      if (auto checked = check_range("sm_count", request.sm_count, limits::kMaxSmCount); !checked.ok()) {
        return std::move(checked).error();
      }
      if (auto checked = check_layer(spec); !checked.ok()) return in(where(), std::move(checked).error());
    }
    auto found = layer(question);
    if (!found.ok()) return in(where(), std::move(found).error());
    trace(question, **found);
    const auto& plan = (*found)->plan;
    add(plan->kernels);
    add(plan->others);
    planned.layers.push_back(plan);
  }
  for (std::size_t i = 0; i < request.kernels.size(); ++i) {
    const auto& spec = request.kernels[i];
    const Question question{spec.descriptor, request.arch, toolchain, 0, 0, 0, 0, false, spec.config};
    auto found = layer(question);
    if (!found.ok()) return in("kernel " + std::to_string(i), std::move(found).error());
    trace(question, **found);
    add((*found)->plan->kernels);
  }
  for (const auto& kernel : planned.kernels) {
    CUBIND_CHECK(check_version("launch_abi", request.launch_abi, launch_abi_of(kernel->config)));
  }
  for (const auto& key : request.keys) {
    if (!seen.insert(key).second) continue;
    auto named = std::make_shared<PlannedKernel>();
    named->key = key;
    planned.kernels.push_back(std::move(named));
  }
  if (planned.kernels.size() > limits::kMaxKernelsPerRequest) {
    return Error{ErrorCode::invalid_argument, "kernels " + quoted(planned.kernels.size()) +
                                                  " after planning are more than " +
                                                  std::to_string(limits::kMaxKernelsPerRequest)};
  }
  return planned;
}

Result<KernelRef> RequestPlanner::plan_kernel(const KernelSpec& spec, Arch arch, const ToolchainChoice& choice) {
  CUBIND_TRY(const Toolchain* toolchain, choose_toolchain(all_, choice, configured_));
  CUBIND_TRY(const auto* found, layer({spec.descriptor, arch, toolchain, 0, 0, 0, 0, false, spec.config}));
  return found->plan->kernels.front();
}

Result<KernelRef> RequestPlanner::plan_record(const RecordSummary& record) {
  const auto dash = record.name.rfind('-');  // short_name of the canonical descriptor, then the config's name
  if (dash == std::string::npos) {
    return Error{ErrorCode::not_supported, "name \"" + record.name + "\" is not one that this version makes"};
  }
  const auto descriptor = descriptor_from_name(std::string_view(record.name).substr(0, dash));
  if (!descriptor.ok()) return Error{ErrorCode::not_supported, descriptor.error().message};
  ToolchainChoice exactly{ToolchainRule::exact, record.toolchain, 0, {}};
  auto planned = plan_kernel({*descriptor, record.name.substr(dash + 1)}, record.arch, exactly);
  if (!planned.ok()) return planned;
  if ((*planned)->key != record.key) {
    return Error{ErrorCode::not_supported, "key \"" + record.key.hex() + "\" is from another version of the generator"};
  }
  return planned;
}

Result<RequestPlanner::Remembered*> RequestPlanner::layer(const Question& question) {
  if (auto* known = layers_.get(question)) return known;
  CUBIND_TRY(auto planned, plan_layer(question));
  layers_.put(question, {std::make_shared<const PlannedLayer>(std::move(planned))});
  return layers_.get(question);
}

void RequestPlanner::trace(const Question& question, Remembered& remembered) {
  if (std::exchange(remembered.traced, true) || trace_.size() >= limits::kMaxTraceEntries) return;
  trace_.insert(trace_line({question.descriptor, question.arch, question.config, question.sm_count, question.n,
                            question.k, question.max_m, question.whole_catalogue, question.toolchain->id}));
}

std::string RequestPlanner::trace() const {
  std::string text(kTraceHeader);
  for (const auto& line : trace_) text += line;
  return text;
}

Result<PlannedLayer> RequestPlanner::plan_layer(const Question& question) {
  PlannedLayer planned;
  CUBIND_TRY(const Arch code, code_arch(question.arch));
  CUBIND_CHECK(validate(question.descriptor));
  const auto add = [&](const GemmConfig& config, std::vector<KernelRef>& to) -> Status {
    CUBIND_TRY(auto made, kernel(question.descriptor, config, code, *question.toolchain));
    to.push_back(std::move(made));
    return {};
  };
  if (!question.config.empty() || question.max_m == 0) {
    CUBIND_TRY(const auto config, config_from_name(question.descriptor, code, question.config));
    CUBIND_CHECK(add(config, planned.kernels));
    return planned;
  }
  CUBIND_TRY(const auto table,
             launch_table(question.descriptor, code, question.sm_count, question.n, question.k, question.max_m));
  for (const auto& interval : table.intervals) {
    planned.rows.push_back(
        {interval.m_first, interval.m_last, interval.config, interval.splits, interval.k_tiles_per_split});
  }
  for (const auto& config : table.configs) CUBIND_CHECK(add(config, planned.kernels));
  if (question.whole_catalogue) {
    CUBIND_TRY(const auto all, reachable(question.descriptor, code, question.max_m));
    for (const auto& config : all) {
      if (std::find(table.configs.begin(), table.configs.end(), config) == table.configs.end()) {
        CUBIND_CHECK(add(config, planned.others));
      }
    }
  }
  return planned;
}

Result<KernelRef> RequestPlanner::kernel(const GemmDescriptor& descriptor, const GemmConfig& config, Arch code,
                                         const Toolchain& toolchain) {
  const Question question{canonical(descriptor), code, &toolchain, 0, 0, 0, 0, false, config_name(config)};
  if (const auto* known = kernels_.get(question)) return *known;
  CUBIND_TRY(auto keyed, make_keyed_unit(question.descriptor, config, code, toolchain));
  auto made = std::make_shared<const PlannedKernel>(
      PlannedKernel{keyed.unit.key, question.descriptor, config, code, &toolchain, std::move(keyed.ingredients)});
  kernels_.put(question, made);
  return KernelRef(made);
}

std::size_t RequestPlanner::QuestionHash::operator()(const Question& question) const {
  std::uint64_t hash = std::hash<std::string_view>()(question.config);
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15ull; };
  const auto& descriptor = question.descriptor;
  mix(static_cast<std::uint64_t>(descriptor.activation) << 40 | static_cast<std::uint64_t>(descriptor.weight) << 32 |
      descriptor.group_k);
  mix(static_cast<std::uint64_t>(descriptor.weight_scale) << 8 | static_cast<std::uint64_t>(descriptor.zero_point));
  mix(static_cast<std::uint64_t>(question.arch.number) << 8 | static_cast<std::uint64_t>(question.arch.suffix));
  mix(static_cast<std::uint64_t>(question.n) << 32 | question.k);
  mix(static_cast<std::uint64_t>(question.max_m) << 32 | question.sm_count);
  return hash ^ hash >> 29;
}

}  // namespace cubind
