#include "codegen/nvrtc/options.hpp"

namespace cubind {

namespace {
constexpr std::uint32_t kCacheAndSeedSince = 12090;  // both options are refused as unknown by 12.8
}

std::vector<std::string> compile_options(const Toolchain& toolchain, Arch arch) {
  std::vector<std::string> options;
  options.push_back("--gpu-architecture=" + to_string(arch));
  options.emplace_back("--std=c++20");
  options.emplace_back("--device-as-default-execution-space");  // the headers are host code too (planner, emulator)
  options.emplace_back("--modify-stack-limit=false");  // otherwise NVRTC lifts RLIMIT_STACK for the whole process
  // Otherwise NVRTC opens libcuda and calls cuInit to reach the driver's own cache: a compile would depend on what the
  // node compiled before. Older versions have neither that cache nor the option.
  if (toolchain.cuda_version() >= kCacheAndSeedSince) options.emplace_back("--no-cache");
  return options;
}

std::optional<std::string> seed_option(const Toolchain& toolchain, const Digest& key) {
  if (toolchain.cuda_version() < kCacheAndSeedSince) return std::nullopt;
  return "--frandom-seed=" + key.hex().substr(0, 16);
}

}  // namespace cubind
