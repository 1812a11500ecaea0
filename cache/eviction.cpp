#include "cache/eviction.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace cubind {

namespace {

constexpr std::uint64_t kMsPerDoubling = 3'600'000;
constexpr int kMostDoublings = 24;  // hits keep a record at most a day: what nobody asks for goes in the end

// A record that was just made counts as one that was hit: it is about to be.
std::uint64_t worth(const UsageEntry& usage, std::uint64_t now_ms) {
  const int doublings = std::min(static_cast<int>(std::bit_width(usage.hits | 1)), kMostDoublings);
  return std::min(usage.last_used_ms, now_ms) + static_cast<std::uint64_t>(doublings) * kMsPerDoubling;
}

}  // namespace

std::vector<KernelKey> plan_eviction(std::vector<EvictionCandidate> candidates, std::uint64_t bytes_to_free,
                                     std::uint64_t share, std::uint64_t now_ms) {
  std::sort(candidates.begin(), candidates.end(), [now_ms](const auto& a, const auto& b) {
    const auto worth_a = worth(a.usage, now_ms);
    const auto worth_b = worth(b.usage, now_ms);
    return worth_a != worth_b ? worth_a < worth_b : a.key < b.key;
  });

  std::unordered_map<std::uint32_t, std::uint64_t> excess;  // by owner
  if (share != 0) {
    for (const auto& [key, usage] : candidates) excess[usage.owner] += usage.bytes;
    for (auto& [owner, bytes] : excess) bytes -= std::min(bytes, share);
  }

  std::vector<KernelKey> victims;
  std::uint64_t freed = 0;
  std::vector<const EvictionCandidate*> within_quota;
  for (const auto& candidate : candidates) {
    if (freed >= bytes_to_free) return victims;
    const auto over = excess.find(candidate.usage.owner);
    if (over == excess.end() || over->second == 0) {
      within_quota.push_back(&candidate);
      continue;
    }
    over->second -= std::min(over->second, candidate.usage.bytes);
    freed += candidate.usage.bytes;
    victims.push_back(candidate.key);
  }
  for (const auto* candidate : within_quota) {
    if (freed >= bytes_to_free) break;
    freed += candidate->usage.bytes;
    victims.push_back(candidate->key);
  }
  return victims;
}

std::uint64_t fair_share(const std::vector<EvictionCandidate>& candidates, std::uint64_t bytes) {
  std::unordered_set<std::uint32_t> owners;
  for (const auto& candidate : candidates) owners.insert(candidate.usage.owner);
  return owners.empty() ? bytes : bytes / owners.size();
}

}  // namespace cubind
