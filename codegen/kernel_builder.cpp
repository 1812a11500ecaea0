#include "codegen/kernel_builder.hpp"

#include <memory>

#include "codegen/cache_key.hpp"
#include "codegen/cubin/cubin_reader.hpp"
#include "codegen/device/tile/smem_layout.cuh"
#include "codegen/plan/planner.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {
constexpr std::uint32_t kRegistersPerBlock = 65536;  // of every architecture from sm_75 on

Error differs(const CompileUnit& unit, const std::string& what) {
  return {ErrorCode::internal, "cubin of \"" + unit.name + "\" for " + to_string(unit.arch) + " " + what};
}

// The end of a log says what went wrong; the start, what was asked for. Long ones lose their middle.
std::string trimmed(std::string log) {
  if (log.size() <= limits::kMaxCompileLog) return log;
  const std::string mark = "\n... (log shortened) ...\n";
  const auto half = (limits::kMaxCompileLog - mark.size()) / 2;
  return log.substr(0, half) + mark + log.substr(log.size() - half);
}
}  // namespace

Result<Artifact> make_artifact(const CompileUnit& unit, const GemmDescriptor& descriptor, const GemmConfig& config,
                               CompileOutput output) {
  if (output.cubin.size() > limits::kMaxCubinBytes) {
    return differs(unit, "has " + std::to_string(output.cubin.size()) + " bytes, more than is ever stored");
  }
  const auto read = read_cubin(output.cubin);
  if (!read.ok()) return differs(unit, "cannot be read: " + read.error().message);
  if (read->sm != unit.arch.number) return differs(unit, "is for sm_" + std::to_string(read->sm));
  if (read->entries.size() != 1)
    return differs(unit, "has " + std::to_string(read->entries.size()) + " entries, not 1");
  const auto& entry = read->entries.front();
  if (entry.name != kEntryName) return differs(unit, "has the entry \"" + entry.name + "\"");
  if (entry.max_threads != config.threads()) {
    return differs(unit, "is bounded to " + std::to_string(entry.max_threads) + " threads, planned are " +
                             std::to_string(config.threads()));
  }
  const bool mapped = config.kernel == GemmKernel::wgmma;
  const auto param_bytes = mapped ? sizeof(MappedGemmParams) : sizeof(GemmParams);
  if (entry.param_bytes != param_bytes) {
    return differs(unit, "takes " + std::to_string(entry.param_bytes) + " bytes of parameters, the launcher gives " +
                             std::to_string(param_bytes));
  }
  if (entry.registers == 0 || std::uint64_t{entry.registers} * config.threads() > kRegistersPerBlock) {
    return differs(unit, "needs " + std::to_string(entry.registers) + " registers a thread");
  }

  Artifact artifact;
  artifact.key = unit.key;
  auto& info = artifact.info;
  info.name = short_name(canonical(descriptor)) + "-" + config_name(config);
  info.entry = entry.name;
  info.arch = unit.arch;
  info.launch_abi = launch_abi_of(config);
  info.weight_layout = kWeightLayout;
  info.tile_m = config.tile_m;
  info.tile_n = config.tile_n;
  info.tile_k = config.tile_k;
  info.threads = config.threads();
  info.smem_bytes = smem_bytes(config);
  info.static_smem_bytes = entry.static_smem_bytes;
  info.registers = entry.registers;
  info.local_bytes = entry.local_bytes;
  info.toolchain = unit.toolchain;
  info.compile_ms = output.wall_ms;
  info.compile_peak_bytes = output.peak_bytes;
  info.log = trimmed(std::move(output.log));
  artifact.cubin_digest = sha256(output.cubin);
  artifact.cubin = std::make_shared<const Bytes>(std::move(output.cubin));
  return artifact;
}

}  // namespace cubind
