// Why is this kernel not a hit? The stored record whose key was hashed from the most similar ingredients, and what
// differs. Reads every record: for disk threads.
#pragma once

#include <vector>

#include "cache/artifact_store.hpp"
#include "protocol/messages.hpp"

namespace cubind {

// What differs, in the order of `asked`, then what only `stored` has.
std::vector<Difference> differences(const std::vector<Ingredient>& asked, const std::vector<Ingredient>& stored);

// `nearest` is zero if no record is there. Of equally near ones the one that was used last.
Result<NearestReply> nearest_record(ArtifactStore& store, const KernelKey& key, const std::vector<Ingredient>& asked);

}  // namespace cubind
