// A read-only layer below the store: another store's folder, made elsewhere and shipped in an image or mounted. Nothing
// in it is written, locked or repaired; what fails its check is a miss and counted. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cache/artifact_store.hpp"
#include "cache/rocks_store.hpp"

namespace cubind {

class RocksBase {
 public:
  // `root` as a daemon was given it (store.root). not_found if it holds no store of this version's schema,
  // permission_denied if others can write to it, else why it cannot be read.
  static Result<std::unique_ptr<RocksBase>> open(const std::string& root);
  ~RocksBase();

  // As ArtifactStore::get, but counts no use and never fails.
  std::optional<Artifact> get(const KernelKey& key, const std::vector<Ingredient>& ingredients);

  std::uint64_t records() const { return records_; }
  std::uint64_t corrupt_records() const { return corrupt_records_; }
  const std::vector<ToolchainIdentity>& known_toolchains() const { return toolchains_; }

 private:
  class Impl;
  RocksBase();

  std::unique_ptr<Impl> impl_;
  std::uint64_t records_ = 0;
  std::vector<ToolchainIdentity> toolchains_;
  std::atomic<std::uint64_t> corrupt_records_{0};
};

}  // namespace cubind
