// Where artifacts are kept. A miss is not an error: get answers nothing. There is deliberately no contains():
// check-then-get is a race.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "protocol/artifact.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct StoreStats {
  std::uint64_t records = 0, bytes = 0;  // cubin bytes, before compression
  std::uint64_t evictions = 0, corrupt_records = 0, put_failures = 0, get_failures = 0;
  std::uint64_t set_aside = 0;                    // databases that could not be read and were begun anew
  std::uint64_t base_records = 0, base_hits = 0;  // of the read-only layer below
  bool degraded = false;
  std::string reason;  // if degraded
};

// A remembered compile failure that was the source's fault (compile_failed only).
struct StoredFailure {
  std::string message;
  std::string log;
  std::uint64_t expires_ms = 0;  // unix time
  bool operator==(const StoredFailure&) const = default;
};

inline constexpr std::uint32_t kNoOwner = 0xffffffffu;  // as a uid: nobody in particular

// What codegen/nvrtc's Toolchain needs to stand for one that is not installed.
struct ToolchainIdentity {
  std::string id;
  std::uint32_t major = 0, minor = 0, patch = 0;
  std::string build_id, builtins_build_id;
  bool operator==(const ToolchainIdentity&) const = default;
};

class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  // Nothing on a miss. A record that fails its check (digest, or key fields that differ from `ingredients`, unless that
  // is empty) is removed, counted and a miss. Counts a use. Thread-safe.
  virtual Result<std::optional<Artifact>> get(const KernelKey& key, const std::vector<Ingredient>& ingredients) = 0;

  // Atomic: after a crash either the whole record is there or none. A second put of the same key replaces the first.
  // `owner` is the uid that had it made, for its part of the space. unavailable or resource_exhausted if the disk does
  // not take it; the caller serves the artifact all the same. Thread-safe.
  virtual Status put_as(const Artifact& artifact, const std::vector<Ingredient>& ingredients, std::uint32_t owner) = 0;
  Status put(const Artifact& artifact, const std::vector<Ingredient>& ingredients) {
    return put_as(artifact, ingredients, kNoOwner);
  }

  // Returns the number of cubin bytes freed; 0 if it was not there. Thread-safe.
  virtual Result<std::uint64_t> erase(const KernelKey& key) = 0;

  // Ordered by key, after `after` (exclusive), at most `limit`. Thread-safe.
  virtual Result<std::vector<RecordSummary>> list(const KernelKey& after, std::size_t limit) = 0;

  // What the key was hashed from; nothing on a miss. Counts no use. Thread-safe.
  virtual Result<std::optional<std::vector<Ingredient>>> ingredients(const KernelKey& key) = 0;

  // The negative cache. An expired failure is a miss; a put of the key removes it. Thread-safe.
  virtual Status put_failure(const KernelKey& key, const StoredFailure& failure) = 0;
  virtual Result<std::optional<StoredFailure>> get_failure(const KernelKey& key) = 0;

  // Counts a use that a tier in front of this one answered, so that eviction does not take what is hot there.
  // Thread-safe, never blocks on a disk; a key that is not stored is forgotten.
  virtual void touch(const KernelKey& key) { static_cast<void>(key); }

  // So that records of a toolchain that is not installed can be asked for, after a restart too. Thread-safe.
  virtual Status remember_toolchain(const ToolchainIdentity& toolchain) = 0;

  virtual StoreStats stats() const = 0;
};

}  // namespace cubind
