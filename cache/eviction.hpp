// What goes when the store is full. Pure: it sees usage, not the database.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/side_records.hpp"
#include "protocol/artifact.hpp"

namespace cubind {

struct EvictionCandidate {
  KernelKey key;
  UsageEntry usage;
};

// Keys to remove, in order, until they free at least `bytes_to_free` (all of them if that is not enough).
//
// First what owners have above `share` (0 = no quota), so that one user's burst does not push out the others' kernels;
// records without an owner count as one user's. Then the least recently used, where each doubling of a record's hits
// counts as an hour of recency: a kernel that a model loads every morning outlives one that was tried once last night.
// A use after `now_ms` counts as one now: a clock that was set back must not make what is older immortal.
std::vector<KernelKey> plan_eviction(std::vector<EvictionCandidate> candidates, std::uint64_t bytes_to_free,
                                     std::uint64_t share, std::uint64_t now_ms);

// An equal part of `bytes` for each owner among the candidates. As long as they take more than `bytes`, somebody is
// above it: a user within his share loses nothing to another.
std::uint64_t fair_share(const std::vector<EvictionCandidate>& candidates, std::uint64_t bytes);

}  // namespace cubind
