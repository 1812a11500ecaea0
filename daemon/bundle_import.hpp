// What an import sends is kept in a file without a name until all of it is there; then the bundle is checked whole, the
// cubins' ELF included, and only then stored. For disk threads, one call at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ed25519.hpp"
#include "base/unique_fd.hpp"
#include "cache/artifact_store.hpp"

namespace cubind {

// Whose bundles are taken.
struct ImportPolicy {
  std::vector<SigningKey> trusted;  // a signature must be of one of these, if there are any
  bool require_signed = false;
};

struct Imported {
  std::uint64_t records = 0, bytes = 0;
  std::vector<ToolchainIdentity> toolchains;  // that made them
};

class BundleImport {
 public:
  // `folder` is on the disk that holds the store.
  explicit BundleImport(std::string folder) : folder_(std::move(folder)) {}

  Status append(ByteView data);

  // corruption if the bundle is not whole, permission_denied if the policy does not take it: then nothing was stored.
  // An error of the disk's may leave some records stored, each of them whole.
  Result<Imported> finish(const ImportPolicy& policy, ArtifactStore& store);

  std::atomic<bool> busy{false};  // a call is under way

 private:
  std::string folder_;
  UniqueFd file_;
  std::uint64_t size_ = 0;
};

}  // namespace cubind
