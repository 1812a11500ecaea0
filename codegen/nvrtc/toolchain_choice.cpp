#include <algorithm>
#include <tuple>

#include "codegen/nvrtc/toolchain.hpp"

namespace cubind {

bool is_newer(const Toolchain& a, const Toolchain& b) {
  return std::tie(a.major, a.minor, a.patch, a.id) > std::tie(b.major, b.minor, b.patch, b.id);
}

bool compiles_for(const Toolchain& toolchain, Arch arch) {
  // First version that knows the target, from each release's list of supported architectures.
  struct Target {
    std::uint16_t number;
    std::uint32_t first, last;  // cuda_version()
  };
  constexpr std::uint32_t kStill = ~0u;
  constexpr Target kTargets[] = {
      {50, 12000, 12999},   {52, 12000, 12999},   {53, 12000, 12999},   {60, 12000, 12999},   {61, 12000, 12999},
      {62, 12000, 12999},   {70, 12000, 12999},   {72, 12000, 12999},   {75, 12000, kStill},  {80, 12000, kStill},
      {86, 12000, kStill},  {87, 12000, kStill},  {88, 13000, kStill},  {89, 12000, kStill},  {90, 12000, kStill},
      {100, 12080, kStill}, {101, 12080, 12999},  {103, 12090, kStill}, {107, 13050, kStill}, {110, 13000, kStill},
      {120, 12080, kStill}, {121, 12090, kStill},
  };
  const auto version = toolchain.cuda_version();
  if (arch.suffix == 'a' && arch.number < 90) return false;
  if (arch.suffix == 'f' && (arch.number < 100 || version < 12090)) return false;
  for (const auto& target : kTargets) {
    if (target.number == arch.number) return version >= target.first && version <= target.last;
  }
  return false;
}

namespace {
using Candidates = std::vector<const Toolchain*>;  // newest first

bool is_excluded(const ToolchainChoice& choice, const std::string& id) {
  return std::find(choice.excluded.begin(), choice.excluded.end(), id) != choice.excluded.end();
}

const Toolchain* with_id(const Candidates& candidates, const std::string& id) {
  for (const auto* toolchain : candidates) {
    if (toolchain->id == id) return toolchain;
  }
  return nullptr;
}

// A client that leaves the choice to us is better served by one that can still compile.
Candidates installed_if_any(const Candidates& candidates) {
  Candidates installed;
  for (const auto* toolchain : candidates) {
    if (toolchain->installed) installed.push_back(toolchain);
  }
  return installed.empty() ? candidates : installed;
}

Error nothing_left(const std::vector<Toolchain>& toolchains, const ToolchainChoice& choice, const std::string& wanted) {
  std::string list;
  for (const auto& toolchain : toolchains) {
    list += (list.empty() ? "" : ", ") + toolchain.id;
    if (is_excluded(choice, toolchain.id)) list += " (excluded)";
    if (!toolchain.installed) list += " (not installed)";
  }
  return {ErrorCode::unavailable, "no toolchain " + wanted + "; there is " + (list.empty() ? "none" : list)};
}
}  // namespace

Result<const Toolchain*> choose_toolchain(const std::vector<Toolchain>& toolchains, const ToolchainChoice& choice,
                                          const std::string& configured) {
  Candidates left;
  for (const auto& toolchain : toolchains) {
    if (!is_excluded(choice, toolchain.id)) left.push_back(&toolchain);
  }
  std::sort(left.begin(), left.end(), [](const Toolchain* a, const Toolchain* b) { return is_newer(*a, *b); });

  switch (choice.rule) {
    case ToolchainRule::exact: {
      if (const auto* found = with_id(left, choice.id)) return found;
      return nothing_left(toolchains, choice, "\"" + choice.id + "\"");
    }
    case ToolchainRule::max_cuda: {
      const auto major = choice.max_cuda / 1000;
      Candidates same_major;
      for (const auto* toolchain : left) {
        if (toolchain->major == major) same_major.push_back(toolchain);
      }
      same_major = installed_if_any(same_major);
      for (const auto* toolchain : same_major) {
        if (toolchain->cuda_version() <= choice.max_cuda) return toolchain;
      }
      // Within a major a driver also runs cubins of later minors, as long as they use nothing new: the oldest is the
      // best guess, and the client excludes it if its driver refuses.
      if (!same_major.empty()) return same_major.back();
      return nothing_left(
          toolchains, choice,
          "of cuda " + std::to_string(major) + " for max_cuda \"" + std::to_string(choice.max_cuda) + "\"");
    }
    case ToolchainRule::any: break;
  }
  if (const auto* found = with_id(left, configured)) return found;
  if (!configured.empty() && !is_excluded(choice, configured)) {
    return nothing_left(toolchains, choice, "\"" + configured + "\", the configured one");
  }
  if (left.empty()) return nothing_left(toolchains, choice, "that is not excluded");
  return installed_if_any(left).front();
}

}  // namespace cubind
