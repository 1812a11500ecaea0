#include "client/driver/handles.hpp"

#include "client/fork_guard.hpp"

namespace cubind::cuda {

Result<ContextScope> ContextScope::enter(const DriverApi& api, Context context) {
  CUBIND_CU(api, context_push, context);
  return ContextScope(&api);
}

ContextScope::~ContextScope() {
  if (api_ == nullptr) return;
  Context popped = nullptr;
  api_->context_pop(&popped);
}

Result<std::shared_ptr<const PrimaryContext>> PrimaryContext::retain(const DriverApi& api, Device device) {
  Context context = nullptr;
  CUBIND_CU(api, primary_context_retain, &context, device);
  return std::make_shared<const PrimaryContext>(api, device, context);
}

PrimaryContext::PrimaryContext(const DriverApi& api, Device device, Context context)
    : api_(api), device_(device), context_(context), generation_(fork_generation()) {}

PrimaryContext::~PrimaryContext() {
  if (generation_ == fork_generation()) api_.primary_context_release(device_);
}

Result<std::shared_ptr<const LibraryBox>> LibraryBox::load(const DriverApi& api, ByteView cubin, const char* entry) {
  Library library = nullptr;
  CUBIND_CU(api, library_load_data, &library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  Kernel kernel = nullptr;
  if (const CuResult result = api.library_get_kernel(&kernel, library, entry); result != kSuccess) {
    api.library_unload(library);
    return driver_error(api, "library_get_kernel", result);
  }
  return std::make_shared<const LibraryBox>(api, library, kernel);
}

LibraryBox::LibraryBox(const DriverApi& api, Library library, Kernel kernel)
    : api_(api), library_(library), kernel_(kernel), generation_(fork_generation()) {}

// Fails only while the process exits (deinitialized) or after a sticky error: nothing is left to do then.
LibraryBox::~LibraryBox() {
  if (generation_ == fork_generation()) api_.library_unload(library_);
}

}  // namespace cubind::cuda
