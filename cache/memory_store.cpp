#include "cache/memory_store.hpp"

#include <iterator>
#include <utility>

namespace cubind {

std::shared_ptr<const Artifact> MemoryStore::get(const KernelKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  return *found->second;
}

void MemoryStore::put(std::shared_ptr<const Artifact> artifact) {
  Order dropped;  // destroyed after the lock: freeing a large cubin must not hold others up
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(artifact->key);
  if (found != index_.end()) {
    bytes_ -= (*found->second)->cubin->size();
    dropped.splice(dropped.begin(), order_, found->second);
    index_.erase(found);
  }
  const auto size = artifact->cubin->size();
  if (size > max_bytes_) return;
  shrink_to(max_bytes_ - size, dropped);
  const auto key = artifact->key;
  order_.push_front(std::move(artifact));
  index_.emplace(key, order_.begin());
  bytes_ += size;
}

void MemoryStore::shrink_to(std::size_t bytes, Order& dropped) {
  while (bytes_ > bytes) {
    const auto last = std::prev(order_.end());
    bytes_ -= (*last)->cubin->size();
    index_.erase((*last)->key);
    dropped.splice(dropped.begin(), order_, last);
    ++evictions_;
  }
}

void MemoryStore::set_max_bytes(std::size_t max_bytes) {
  Order dropped;
  const std::lock_guard lock(mutex_);
  max_bytes_ = max_bytes;
  shrink_to(max_bytes, dropped);
}

std::uint64_t MemoryStore::erase(const KernelKey& key) {
  Order dropped;
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return 0;
  const auto size = (*found->second)->cubin->size();
  bytes_ -= size;
  dropped.splice(dropped.begin(), order_, found->second);
  index_.erase(found);
  return size;
}

std::uint64_t MemoryStore::clear() {
  Order dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(order_);
  index_.clear();
  return std::exchange(bytes_, 0);
}

std::vector<std::shared_ptr<const Artifact>> MemoryStore::snapshot() const {
  const std::lock_guard lock(mutex_);
  return {order_.begin(), order_.end()};
}

std::size_t MemoryStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t MemoryStore::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

std::uint64_t MemoryStore::evictions() const {
  const std::lock_guard lock(mutex_);
  return evictions_;
}

}  // namespace cubind
