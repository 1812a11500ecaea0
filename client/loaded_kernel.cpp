#include "client/loaded_kernel.hpp"

#include <map>
#include <mutex>
#include <unordered_map>

#include "client/driver/device.hpp"
#include "client/fork_guard.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind {
namespace {

// Context ids are never used again, addresses of contexts are.
using ContextAndKey = std::pair<unsigned long long, KernelKey>;

struct Tables {
  std::mutex mutex;
  std::unordered_map<KernelKey, std::weak_ptr<const cuda::LibraryBox>, DigestHash> libraries;
  std::map<ContextAndKey, std::weak_ptr<const LoadedKernel>> kernels;
  Tables* of_parent = nullptr;  // only keeps it reachable
};

// Never destroyed: what is still loaded at exit is the driver's to clean up.
struct Process {
  Tables* tables = new Tables;
  ForkGuard guard{[this] {
    auto* fresh = new Tables;
    fresh->of_parent = tables;
    tables = fresh;
  }};
};

Tables& process_tables() {
  static auto* const process = new Process;
  return *process->tables;
}

Result<std::shared_ptr<const cuda::LibraryBox>> library_of(Tables& tables, const cuda::DriverApi& api,
                                                           const PreparedKernel& kernel) {
  auto& slot = tables.libraries[kernel.key];
  if (auto there = slot.lock()) return there;
  CUBIND_TRY(auto loaded, cuda::LibraryBox::load(api, kernel.cubin, kEntryName));
  slot = loaded;
  return loaded;
}

Result<LoadedKernelPtr> load_in_context(Tables& tables, const cuda::DriverApi& api, const PreparedKernel& kernel) {
  auto made = std::make_shared<LoadedKernel>();
  CUBIND_TRY(made->library, library_of(tables, api, kernel));
  CUBIND_CU(api, kernel_get_function, &made->function, made->library->kernel());
  // A lazily loaded function is loaded by the first question that only its code can answer.
  int registers = 0;
  CUBIND_CU(api, function_get_attribute, &registers, cuda::FunctionAttribute::num_regs, made->function);
  CUBIND_CU(api, function_set_attribute, made->function, cuda::FunctionAttribute::max_dynamic_shared_size_bytes,
            static_cast<int>(kernel.info.smem_bytes));
  return LoadedKernelPtr(std::move(made));
}

}  // namespace

Result<LoadedKernelPtr> load_kernel(const cuda::DriverApi& api, const PreparedKernel& kernel) {
  CUBIND_TRY(const cuda::Device device, cuda::current_device(api));
  CUBIND_TRY(const cuda::DeviceTarget target, cuda::device_target(api, device));
  if (!cuda::runs_on(kernel.info.arch, target.arch)) {
    return Error{ErrorCode::not_supported, "kernel \"" + kernel.info.name + "\" is for \"" + kernel.arch_text +
                                               "\", the device is \"" + to_string(target.arch) + "\""};
  }
  cuda::Context context = nullptr;
  unsigned long long context_id = 0;
  CUBIND_CU(api, context_get_current, &context);
  CUBIND_CU(api, context_get_id, context, &context_id);

  Tables& tables = process_tables();
  const std::lock_guard lock(tables.mutex);
  if (const auto found = tables.kernels.find({context_id, kernel.key}); found != tables.kernels.end()) {
    if (auto there = found->second.lock()) return there;
  }
  std::erase_if(tables.kernels, [](const auto& entry) { return entry.second.expired(); });  // contexts come and go
  auto loaded = load_in_context(tables, api, kernel);
  if (!loaded) {
    Error error = std::move(loaded).error();
    error.message =
        "kernel \"" + kernel.info.name + "\" of toolchain \"" + kernel.info.toolchain + "\": " + error.message;
    return error;
  }
  tables.kernels[{context_id, kernel.key}] = *loaded;
  return loaded;
}

}  // namespace cubind
