// The daemon's store with read-only layers below: what the store has not, a layer may. Only get() looks below; all
// else is the store's own, so that listing, purging and eviction never touch a layer. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "cache/artifact_store.hpp"
#include "cache/rocks_base.hpp"

namespace cubind {

class LayeredStore final : public ArtifactStore {
 public:
  // `store` outlives this.
  LayeredStore(ArtifactStore& store, std::vector<std::unique_ptr<RocksBase>> layers)
      : store_(store), layers_(std::move(layers)) {}

  Result<std::optional<Artifact>> get(const KernelKey& key, const std::vector<Ingredient>& ingredients) override;
  Status put_as(const Artifact& artifact, const std::vector<Ingredient>& ingredients, std::uint32_t owner) override {
    return store_.put_as(artifact, ingredients, owner);
  }
  Result<std::uint64_t> erase(const KernelKey& key) override { return store_.erase(key); }
  Result<std::vector<RecordSummary>> list(const KernelKey& after, std::size_t limit) override {
    return store_.list(after, limit);
  }
  Result<std::optional<std::vector<Ingredient>>> ingredients(const KernelKey& key) override {
    return store_.ingredients(key);
  }
  Status put_failure(const KernelKey& key, const StoredFailure& failure) override {
    return store_.put_failure(key, failure);
  }
  Result<std::optional<StoredFailure>> get_failure(const KernelKey& key) override { return store_.get_failure(key); }
  void touch(const KernelKey& key) override { store_.touch(key); }
  Status remember_toolchain(const ToolchainIdentity& toolchain) override {
    return store_.remember_toolchain(toolchain);
  }
  StoreStats stats() const override;

  std::vector<ToolchainIdentity> known_toolchains() const;  // of the layers

 private:
  ArtifactStore& store_;
  std::vector<std::unique_ptr<RocksBase>> layers_;
  std::atomic<std::uint64_t> hits_{0};
};

}  // namespace cubind
