#include "daemon/nearest_record.hpp"

#include <map>
#include <string>
#include <utility>

namespace cubind {

namespace {

constexpr std::size_t kPage = 256;

// Names repeat (each option is an ingredient): the n-th of a name is compared with the n-th of that name.
std::vector<std::pair<std::pair<std::string, std::size_t>, std::string>> numbered(
    const std::vector<Ingredient>& ingredients) {
  std::map<std::string, std::size_t> seen;
  std::vector<std::pair<std::pair<std::string, std::size_t>, std::string>> all;
  for (const auto& [name, value] : ingredients) all.push_back({{name, seen[name]++}, value});
  return all;
}

}  // namespace

std::vector<Difference> differences(const std::vector<Ingredient>& asked, const std::vector<Ingredient>& stored) {
  const auto ours = numbered(asked), theirs = numbered(stored);
  const std::map our_values(ours.begin(), ours.end()), their_values(theirs.begin(), theirs.end());
  std::vector<Difference> all;
  for (const auto& [name, value] : ours) {
    const auto other = their_values.find(name);
    if (other == their_values.end()) {
      all.push_back({name.first, value, ""});
    } else if (other->second != value) {
      all.push_back({name.first, value, other->second});
    }
  }
  for (const auto& [name, value] : theirs) {
    if (!our_values.contains(name)) all.push_back({name.first, "", value});
  }
  return all;
}

Result<NearestReply> nearest_record(ArtifactStore& store, const KernelKey& key, const std::vector<Ingredient>& asked) {
  NearestReply reply;
  reply.key = key;
  std::uint64_t last_used = 0;
  KernelKey after;
  for (;;) {
    CUBIND_TRY(const auto page, store.list(after, kPage));
    for (const auto& record : page) {
      CUBIND_TRY(const auto ingredients, store.ingredients(record.key));
      if (!ingredients) continue;
      auto differing = differences(asked, *ingredients);
      const bool nearer = reply.nearest.is_zero() || differing.size() < reply.differences.size() ||
                          (differing.size() == reply.differences.size() && record.last_used_ms > last_used);
      if (!nearer) continue;
      reply.nearest = record.key;
      reply.name = record.name;
      reply.differences = std::move(differing);
      last_used = record.last_used_ms;
    }
    if (page.size() < kPage) return reply;
    after = page.back().key;
  }
}

}  // namespace cubind
