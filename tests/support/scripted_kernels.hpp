// Requests for kernels that exist, and what a scripted pool's bytes become: for tests of the service that need no
// NVRTC.
#pragma once

#include <memory>
#include <utility>

#include "base/digest.hpp"
#include "codegen/compiler.hpp"
#include "codegen/nvrtc/toolchain.hpp"
#include "codegen/plan/planner.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/messages.hpp"

namespace cubind::test {

inline Toolchain test_toolchain(bool installed = true) {
  Toolchain toolchain;
  toolchain.id = "nvrtc-13.0.88-00000001";
  toolchain.major = 13;
  toolchain.patch = 88;
  toolchain.build_id = "aa";
  toolchain.builtins_build_id = "bb";
  toolchain.nvrtc_path = "/nowhere/libnvrtc.so.13";
  toolchain.installed = installed;
  return toolchain;
}

// In the place of codegen's, which wants a real cubin.
inline Result<Artifact> build_without_reading(const CompileUnit& unit, const GemmDescriptor&, const GemmConfig&,
                                              CompileOutput output) {
  Artifact artifact;
  artifact.key = unit.key;
  artifact.info.name = unit.name;
  artifact.info.arch = unit.arch;
  artifact.info.toolchain = unit.toolchain;
  artifact.info.launch_abi = kPlainLaunchAbi;
  artifact.info.weight_layout = kWeightLayout;
  artifact.info.compile_ms = output.wall_ms;
  artifact.cubin_digest = sha256(output.cubin);
  artifact.cubin = std::make_shared<const Bytes>(std::move(output.cubin));
  return artifact;
}

inline KernelsRequest kernels_request(std::uint64_t id) {
  KernelsRequest request;
  request.id = id;
  request.arch = {90, '\0'};
  request.sm_count = 132;
  request.launch_abi = {1, kLaunchAbi};
  request.weight_layout = {1, kWeightLayout};
  return request;
}

// The index-th kernel of the catalogue of int4 weights with bf16 activations.
inline KernelSpec catalogue_kernel(std::size_t index) {
  const GemmDescriptor descriptor;
  return {descriptor, config_name(catalogue(descriptor, Arch{90, '\0'})->at(index))};
}

inline KernelsRequest one_kernel(std::uint64_t id, std::size_t index = 0) {
  auto request = kernels_request(id);
  request.kernels.push_back(catalogue_kernel(index));
  return request;
}

}  // namespace cubind::test
