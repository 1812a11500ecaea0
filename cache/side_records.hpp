// The small entries beside the records: what eviction looks at, what failed, running totals. One leading version byte;
// decoding is safe on hostile bytes. Unlike a record they carry no checksum of their own: a wrong one costs a worse
// eviction or a compile, never wrong bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "cache/rocks_store.hpp"

namespace cubind {

struct UsageEntry {
  std::uint64_t last_used_ms = 0;  // unix time
  std::uint64_t hits = 0;
  std::uint64_t bytes = 0;         // of the cubin
  std::uint32_t owner = kNoOwner;  // uid that had it made
  bool operator==(const UsageEntry&) const = default;
};

// Kept up to date in every write, so that opening a store scans nothing.
struct StoreTotals {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;                            // of distinct cubins
  std::map<std::string, std::uint64_t> by_toolchain;  // records, by KernelInfo::toolchain
  bool operator==(const StoreTotals&) const = default;
};

Bytes encode_usage(const UsageEntry& usage);
Result<UsageEntry> decode_usage(ByteView bytes);

Bytes encode_failure(const StoredFailure& failure);  // trims message and log to their limits
Result<StoredFailure> decode_failure(ByteView bytes);

Bytes encode_totals(const StoreTotals& totals);
Result<StoreTotals> decode_totals(ByteView bytes);

Bytes encode_toolchain(const ToolchainIdentity& toolchain);
Result<ToolchainIdentity> decode_toolchain(ByteView bytes);

}  // namespace cubind
