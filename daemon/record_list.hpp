// What is stored, over both tiers: a record may be on disk, in memory, or (when the disk did not take it) in memory
// only. May block: for disk threads.
#pragma once

#include <vector>

#include "cache/artifact_store.hpp"
#include "cache/memory_store.hpp"

namespace cubind {

// Ordered by key, after `after` (exclusive), at most `limit`.
Result<std::vector<RecordSummary>> list_records(ArtifactStore& store, const MemoryStore& memory, const KernelKey& after,
                                                std::size_t limit);

// not_found names the key.
Result<RecordSummary> find_record(ArtifactStore& store, const MemoryStore& memory, const KernelKey& key);

struct Purged {
  std::uint64_t records = 0, bytes = 0;
};
Result<Purged> purge_record(ArtifactStore& store, MemoryStore& memory, const KernelKey& key);
Result<Purged> purge_all(ArtifactStore& store, MemoryStore& memory);

}  // namespace cubind
