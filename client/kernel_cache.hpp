// The kernels a client has in hand, by key: several layers share one, and a kernel that is here is not transferred
// again. Holds nothing alive by itself: a kernel goes with its last layer. Thread-safe; a forked child begins with an
// empty one.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/fork_guard.hpp"
#include "protocol/artifact.hpp"

namespace cubind {

// Immutable once it is shared.
struct PreparedKernel {
  KernelKey key;
  KernelInfo info;
  Bytes cubin;
  std::string key_hex, arch_text;  // as the C ABI shows them
};
using PreparedKernelPtr = std::shared_ptr<const PreparedKernel>;

class KernelCache {
 public:
  // The kernel of this key if some layer still has it, else null.
  PreparedKernelPtr find(const KernelKey& key) const;
  // Adds one; if another thread added the same key first, that one is returned.
  PreparedKernelPtr add(PreparedKernelPtr kernel);
  // All that are alive.
  std::vector<PreparedKernelPtr> all() const;

 private:
  struct State {
    std::mutex mutex;
    std::unordered_map<KernelKey, std::weak_ptr<const PreparedKernel>, DigestHash> kernels;
    State* of_parent = nullptr;  // only keeps it reachable: its lock may be held for ever
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
  ForkGuard fork_guard_{[this] {
    auto fresh = std::make_unique<State>();
    fresh->of_parent = state_.release();
    state_ = std::move(fresh);
  }};
};

}  // namespace cubind
