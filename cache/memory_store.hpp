// The first tier: a bounded LRU of artifacts whose bytes are shared with the sessions that send them. Bytes are checked
// before they enter, never hashed again on a hit. Thread-safe: one mutex, held for a hash-table look-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/artifact.hpp"

namespace cubind {

class MemoryStore {
 public:
  explicit MemoryStore(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::shared_ptr<const Artifact> get(const KernelKey& key);  // null on a miss; marks it as used most recently
  void put(
      std::shared_ptr<const Artifact> artifact);  // evicts the least recently used; one larger than all is not kept
  std::uint64_t erase(const KernelKey& key);      // cubin bytes freed
  std::uint64_t clear();
  void set_max_bytes(std::size_t max_bytes);                      // evicts down to it
  std::vector<std::shared_ptr<const Artifact>> snapshot() const;  // for listing

  std::size_t bytes() const;
  std::size_t size() const;
  std::uint64_t evictions() const;

 private:
  using Order = std::list<std::shared_ptr<const Artifact>>;  // most recently used first

  void shrink_to(std::size_t bytes, Order& dropped);

  std::size_t max_bytes_;
  mutable std::mutex mutex_;
  Order order_;
  std::unordered_map<KernelKey, Order::iterator, DigestHash> index_;
  std::size_t bytes_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace cubind
