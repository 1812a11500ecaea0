#include "cache/layered_store.hpp"

namespace cubind {

Result<std::optional<Artifact>> LayeredStore::get(const KernelKey& key, const std::vector<Ingredient>& ingredients) {
  auto found = store_.get(key, ingredients);
  if (found.ok() && found->has_value()) return found;
  for (const auto& layer : layers_) {
    if (auto artifact = layer->get(key, ingredients)) {
      ++hits_;
      return artifact;
    }
  }
  return found;
}

StoreStats LayeredStore::stats() const {
  auto stats = store_.stats();
  stats.base_hits = hits_;
  for (const auto& layer : layers_) {
    stats.base_records += layer->records();
    stats.corrupt_records += layer->corrupt_records();
  }
  return stats;
}

std::vector<ToolchainIdentity> LayeredStore::known_toolchains() const {
  std::vector<ToolchainIdentity> known;
  for (const auto& layer : layers_) {
    known.insert(known.end(), layer->known_toolchains().begin(), layer->known_toolchains().end());
  }
  return known;
}

}  // namespace cubind
