// The second tier: artifacts on a local disk, in one RocksDB per daemon at <root>/v<record schema>/.
//
// Publishing is one WriteBatch under one writer's lock, through the WAL without fsync: what put() acknowledged survives
// the process (kill -9), not necessarily the power. Cubins are content-addressed, so that keys with equal bytes share
// one copy, which goes with the last record that names it. Every read is checked; what fails is removed and is a miss.
//
// Trouble with the disk never surfaces as a failure to serve: get() misses, put() answers an error that the caller
// counts, stats().degraded says why, and the store comes back by itself: put() and try_recover() try again, with a
// growing pause between tries.
//
// The caller drives time: tick() every limits::kUsageFlush on a thread that may block. All methods are thread-safe.
// Destroying the store flushes it (at most 64 MB are written); nothing handed out refers to it afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cache/artifact_store.hpp"
#include "protocol/artifact.hpp"
#include "protocol/limits.hpp"

namespace cubind {

struct RocksStoreOptions {
  std::string root;                                   // absolute; made (0700) if absent, with its parents
  std::uint64_t max_bytes = limits::kDiskStoreBytes;  // high watermark, in cubin bytes before compression
  double low_ratio = 0.9;                             // eviction goes down to this share of max_bytes
  bool allow_any_filesystem = false;                  // also tmpfs and network file systems
  std::uint32_t old_store_days = 30;                  // other schemas' folders go after that; 0 = never
  std::chrono::milliseconds first_retry{1000};        // pause after a failure of the disk; doubles
  std::chrono::milliseconds longest_retry{60'000};    // up to this
  const Clock* clock = nullptr;                       // not owned; null = the system's
};

struct PurgeCount {
  std::uint64_t records = 0, bytes = 0;
};

class RocksStore final : public ArtifactStore {
 public:
  // Refuses, naming root and rule: a root that is not absolute, is a file, is on tmpfs or a network file system, or
  // cannot be made (invalid_argument); writable by others or not by us (permission_denied); in use by another daemon
  // (unavailable). Trouble behind a good root gives a degraded store instead: a full or read-only disk; a database that
  // cannot be read any more is set aside as v<schema>.damaged and a new one begun. Reads nothing but RocksDB's own
  // files, however many records there are.
  static Result<std::unique_ptr<RocksStore>> open(RocksStoreOptions options);
  ~RocksStore() override;

  // ArtifactStore. get() answers no error for trouble with the disk: that is a miss and is counted in get_failures.
  Result<std::optional<Artifact>> get(const KernelKey& key, const std::vector<Ingredient>& ingredients) override;
  Status put_as(const Artifact& artifact, const std::vector<Ingredient>& ingredients, std::uint32_t owner) override;
  Result<std::uint64_t> erase(const KernelKey& key) override;
  Result<std::vector<RecordSummary>> list(const KernelKey& after, std::size_t limit) override;
  Status put_failure(const KernelKey& key, const StoredFailure& failure) override;
  Result<std::optional<StoredFailure>> get_failure(const KernelKey& key) override;
  Result<std::optional<std::vector<Ingredient>>> ingredients(const KernelKey& key) override;
  void touch(const KernelKey& key) override;
  StoreStats stats() const override;

  Result<PurgeCount> erase_all();  // records, cubins, usage, failures; tunings and traces stay

  // Identities of the toolchains that made the records: those told by remember_toolchain() that records still name
  // (KernelInfo::toolchain). Call remember_toolchain() at start for each installed one; it costs a write once.
  Status remember_toolchain(const ToolchainIdentity& toolchain) override;
  std::vector<ToolchainIdentity> known_toolchains() const;

  // Periodic work: writes usage counts, drops expired failures and old schemas' folders, gives evicted space back to
  // the disk, tries to recover. May take seconds after an eviction. flush_usage() and try_recover() are parts of it.
  Status tick();
  Status flush_usage();
  Status try_recover();

  void set_max_bytes(std::uint64_t bytes);  // holds for the next put; eviction comes with it

  std::string folder() const;  // <root>/v<schema>

 private:
  class Impl;
  explicit RocksStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cubind
