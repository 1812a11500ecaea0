#include "client/driver/driver_api.hpp"

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include <dlfcn.h>

namespace cubind::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

template <class F>
struct Missing;
template <class... Args>
struct Missing<CuResult (*)(Args...)> {
  static CuResult call(Args...) { return kErrorCallRequiresNewerDriver; }
};

template <class F>
void resolve(void* library, F& pointer, const char* symbol) {
  pointer = reinterpret_cast<F>(::dlsym(library, symbol));
  if (pointer == nullptr) pointer = &Missing<F>::call;
}

constinit std::atomic<const DriverApi*> table{nullptr};
constinit thread_local CuResult noted_result = kSuccess;

std::string_view symbol_of(std::string_view name) {
#define CUBIND_NAME(member, symbol, parameters) \
  if (name == #member) return symbol;
  CUBIND_DRIVER_API(CUBIND_NAME)
#undef CUBIND_NAME
  return name;
}

ErrorCode code_of(CuResult result) {
  switch (result) {
    case kErrorOutOfMemory: return ErrorCode::resource_exhausted;
    case kErrorStubLibrary:
    case kErrorNoDevice:
    case kErrorDeinitialized:
    case kErrorInsufficientDriver: return ErrorCode::unavailable;
    case kErrorInvalidDevice:
    case kErrorInvalidContext: return ErrorCode::invalid_argument;
    case kErrorCallRequiresNewerDriver:
    case kErrorInvalidImage:
    case kErrorNoBinaryForGpu:
    case kErrorUnsupportedPtxVersion: return ErrorCode::not_supported;
    default: return ErrorCode::internal;
  }
}

}  // namespace

Result<const DriverApi*> open_driver() {
  if (const DriverApi* api = table.load(std::memory_order_acquire)) return api;
  // Never closed: the driver does not survive it. If two threads come here, both open the same library.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return Error{ErrorCode::unavailable,
                 std::string("no CUDA driver: ") + (why != nullptr ? why : "libcuda.so.1 cannot be opened")};
  }
  auto made = std::make_unique<DriverApi>();
#define CUBIND_RESOLVE(name, symbol, parameters) resolve(library, made->name, symbol);
  CUBIND_DRIVER_API(CUBIND_RESOLVE)
#undef CUBIND_RESOLVE
  const DriverApi* expected = nullptr;
  if (table.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return made.release();
  return expected;
}

Result<const DriverApi*> driver() {
  CUBIND_TRY(const DriverApi* api, open_driver());
  int version = 0;
  CUBIND_CU(*api, driver_get_version, &version);
  if (version < kMinDriverVersion) {
    return Error{ErrorCode::not_supported, "driver of CUDA \"" + std::to_string(version / 1000) + "." +
                                               std::to_string(version % 1000 / 10) +
                                               "\" is older than CUDA 12.0 (R525)"};
  }
  const CuResult result = api->init(0);
  if (result == kErrorNotInitialized) {
    noted_result = result;
    return Error{ErrorCode::not_supported,
                 "CUDA does not survive fork: this process was forked from one that had used it"};
  }
  if (result != kSuccess) return driver_error(*api, "init", result);
  return api;
}

Error driver_error(const DriverApi& api, const char* symbol, CuResult result) {
  noted_result = result;
  const char* name = nullptr;
  if (api.get_error_name(result, &name) != kSuccess || name == nullptr) name = "unknown CUDA error";
  return {code_of(result), std::string(symbol_of(symbol)) + ": " + name + " (" + std::to_string(result) + ")"};
}

CuResult take_last_result() {
  return std::exchange(noted_result, kSuccess);
}

}  // namespace cubind::cuda
