// get: one kernel, to a file if asked for.
#include <nlohmann/json.hpp>

#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "client/cli/output_file.hpp"
#include "client/cli/progress.hpp"

namespace cubind::cli {

namespace {

using nlohmann::ordered_json;

KernelsRequest request_for(const GetOptions& options) {
  KernelsRequest request;
  request.arch = options.kernel.arch;
  request.sm_count = kDefaultSmCount;
  request.mode = options.hit_only ? RequestMode::hit_only : RequestMode::wait;
  request.toolchain = options.kernel.toolchain;
  request.launch_abi = kLaunchAbis;
  request.weight_layout = kWeightLayouts;
  request.with_code = !options.output.empty();
  if (options.kernel.key.is_zero()) {
    request.kernels.push_back(options.kernel.spec);
  } else {
    request.keys.push_back(options.kernel.key);
  }
  return request;
}

ordered_json kernel_json(const KernelReply& reply) {
  const auto& info = reply.info;
  return {{"key", reply.key.hex()},
          {"outcome", to_string(reply.outcome)},
          {"name", info.name},
          {"arch", to_string(info.arch)},
          {"entry", info.entry},
          {"toolchain", info.toolchain},
          {"cubin_sha256", reply.cubin_digest.hex()},
          {"launch_abi", info.launch_abi},
          {"weight_layout", info.weight_layout},
          {"tile_m", info.tile_m},
          {"tile_n", info.tile_n},
          {"tile_k", info.tile_k},
          {"threads", info.threads},
          {"smem_bytes", info.smem_bytes},
          {"static_smem_bytes", info.static_smem_bytes},
          {"registers", info.registers},
          {"local_bytes", info.local_bytes},
          {"compile_ms", info.compile_ms},
          {"compile_peak_bytes", info.compile_peak_bytes}};
}

std::string kernel_text(const KernelReply& reply) {
  const ordered_json kernel = kernel_json(reply);  // lives as long as the loop
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : kernel.items()) {
    rows.push_back({name, value.is_string() ? printable(value.get<std::string>()) : value.dump()});
  }
  return table(rows);
}

}  // namespace

Status run(const CommonOptions& common, const GetOptions& options) {
  std::optional<OutputFile> file;
  if (!options.output.empty() && options.output != "-") {
    CUBIND_TRY(file, OutputFile::create(options.output));
  }
  CUBIND_TRY(const auto client, open_client(common));
  Progress progress = Progress::to_stderr(true);
  std::optional<KernelReply> kernel;
  Bytes code;
  KernelsCallbacks callbacks;
  callbacks.kernel = [&](const KernelReply& reply, Bytes bytes) {
    kernel = reply;
    code = std::move(bytes);
  };
  callbacks.progress = [&](const ProgressReply& reply) {
    progress.show("get", reply);
    return true;
  };
  CUBIND_CHECK(client->kernels(request_for(options), callbacks, deadline_of(common, std::chrono::minutes(10))));
  progress.finish();
  if (!kernel) return Error{ErrorCode::internal, "the daemon answered without a kernel"};
  if (kernel->code != ErrorCode::ok) {
    const bool queued = kernel->code == ErrorCode::pending && kernel->message.empty();
    return Error{kernel->code, queued ? "the kernel is not ready: the daemon goes on with it" : kernel->message};
  }
  if (!options.output.empty() && code.empty()) return Error{ErrorCode::internal, "the daemon sent no cubin"};
  if (file) CUBIND_CHECK(file->publish(code));
  if (options.output == "-") return print_text(as_text(code));
  return common.json ? print_json(kernel_json(*kernel)) : print_text(kernel_text(*kernel));
}

}  // namespace cubind::cli
