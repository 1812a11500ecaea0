#include "client/kernel_cache.hpp"

namespace cubind {

PreparedKernelPtr KernelCache::find(const KernelKey& key) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->kernels.find(key);
  return found == state_->kernels.end() ? nullptr : found->second.lock();
}

PreparedKernelPtr KernelCache::add(PreparedKernelPtr kernel) {
  const std::lock_guard lock(state_->mutex);
  auto& slot = state_->kernels[kernel->key];
  if (auto there = slot.lock()) return there;
  slot = kernel;
  return kernel;
}

std::vector<PreparedKernelPtr> KernelCache::all() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<PreparedKernelPtr> alive;
  for (const auto& [key, kernel] : state_->kernels) {
    if (auto there = kernel.lock()) alive.push_back(std::move(there));
  }
  return alive;
}

}  // namespace cubind
