#include "daemon/record_list.hpp"

#include <algorithm>

namespace cubind {

namespace {

constexpr std::size_t kPage = 256;

RecordSummary summary_of(const Artifact& artifact) {
  RecordSummary summary;
  summary.key = artifact.key;
  summary.name = artifact.info.name;
  summary.arch = artifact.info.arch;
  summary.toolchain = artifact.info.toolchain;
  summary.cubin_bytes = artifact.cubin->size();
  summary.compile_ms = artifact.info.compile_ms;
  return summary;
}

// The key just before `key`, so that "after it" begins with `key`. Zero has none, and is no kernel's key.
KernelKey before(KernelKey key) {
  for (std::size_t i = key.bytes.size(); i-- > 0;) {
    if (key.bytes[i]-- != 0) break;
  }
  return key;
}

}  // namespace

Result<std::vector<RecordSummary>> list_records(ArtifactStore& store, const MemoryStore& memory, const KernelKey& after,
                                                std::size_t limit) {
  CUBIND_TRY(auto records, store.list(after, limit));
  const auto by_key = [](const RecordSummary& a, const RecordSummary& b) { return a.key < b.key; };
  const bool whole_page = records.size() == limit;  // then what lies beyond its last key is for the next page
  const auto on_disk = static_cast<std::ptrdiff_t>(records.size());
  for (const auto& artifact : memory.snapshot()) {
    if (artifact->key <= after) continue;
    if (whole_page && artifact->key > records[static_cast<std::size_t>(on_disk) - 1].key) continue;
    auto summary = summary_of(*artifact);
    if (!std::binary_search(records.begin(), records.begin() + on_disk, summary, by_key)) {
      records.push_back(std::move(summary));
    }
  }
  std::sort(records.begin() + on_disk, records.end(), by_key);
  std::inplace_merge(records.begin(), records.begin() + on_disk, records.end(), by_key);
  if (records.size() > limit) records.resize(limit);
  return records;
}

Result<RecordSummary> find_record(ArtifactStore& store, const MemoryStore& memory, const KernelKey& key) {
  CUBIND_TRY(auto records, list_records(store, memory, before(key), 1));
  if (records.empty() || records.front().key != key) {
    return Error{ErrorCode::not_found, "key \"" + key.hex() + "\" is in no record"};
  }
  return std::move(records.front());
}

Result<Purged> purge_record(ArtifactStore& store, MemoryStore& memory, const KernelKey& key) {
  const auto in_memory = memory.erase(key);
  CUBIND_TRY(const auto on_disk, store.erase(key));
  const auto bytes = std::max(in_memory, on_disk);
  return Purged{bytes != 0 ? 1u : 0u, bytes};
}

Result<Purged> purge_all(ArtifactStore& store, MemoryStore& memory) {
  Purged purged;
  KernelKey after;
  for (;;) {
    CUBIND_TRY(const auto page, list_records(store, memory, after, kPage));
    for (const auto& record : page) {
      CUBIND_TRY(const auto one, purge_record(store, memory, record.key));
      purged.records += one.records;
      purged.bytes += one.bytes;
    }
    if (page.size() < kPage) return purged;
    after = page.back().key;
  }
}

}  // namespace cubind
