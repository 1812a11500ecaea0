#include "daemon/bundle_import.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/bundle.hpp"
#include "codegen/cubin/cubin_reader.hpp"
#include "daemon/request_planner.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

Error failed(const char* what) {
  const int code = errno;
  return {code == ENOSPC || code == EDQUOT ? ErrorCode::resource_exhausted : ErrorCode::unavailable,
          std::string("import: ") + what + ": " + std::strerror(code)};
}

// Not every file system makes one at once: overlays of older kernels do not.
UniqueFd nameless_file(const std::string& folder) {
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string path = folder + "/import-XXXXXX";
  file = UniqueFd(::mkostemp(path.data(), O_CLOEXEC));
  if (file) ::unlink(path.c_str());
  return file;
}

struct Mapping {
  void* address = MAP_FAILED;
  std::size_t size = 0;
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (address != MAP_FAILED) ::munmap(address, size);
  }
};

// What a record says of its cubin, against what the cubin says of itself: a launcher goes by the record.
Result<ToolchainIdentity> check(const Record& record, ByteView cubin) {
  const auto& info = record.info;
  const auto wrong = [&info](const std::string& what) {
    return Error{ErrorCode::corruption, "bundle has a record of \"" + info.name + "\" " + what};
  };
  if (cubin.size() > limits::kMaxCubinBytes) return wrong("whose cubin is larger than any that is stored");
  const auto read = read_cubin(cubin);
  if (!read.ok()) return wrong("whose cubin cannot be read: " + read.error().message);
  if (read->sm != info.arch.number) {
    return wrong("for " + to_string(info.arch) + " whose cubin is for sm_" + std::to_string(read->sm));
  }
  const auto in_key = [&](std::string_view name) {
    const auto found = std::find_if(record.ingredients.begin(), record.ingredients.end(),
                                    [&](const Ingredient& ingredient) { return ingredient.name == name; });
    return found == record.ingredients.end() ? std::string() : found->value;
  };
  if (in_key("arch") != to_string(info.arch)) return wrong("whose key is not for " + to_string(info.arch));
  if (in_key("launch_abi") != std::to_string(info.launch_abi) ||
      in_key("weight_layout") != std::to_string(info.weight_layout)) {
    return wrong("whose launch_abi or weight_layout are not its key's");
  }
  ToolchainIdentity made_by{info.toolchain, 0, 0, 0, in_key("nvrtc_build_id"), in_key("builtins_build_id")};
  std::istringstream version(in_key("nvrtc_version"));
  char dot = 0;
  version >> made_by.major >> dot >> made_by.minor >> dot >> made_by.patch;
  if (toolchain_id(known_toolchain(made_by)) != info.toolchain) return wrong("whose toolchain is not its key's");
  if (read->entries.size() != 1 || read->entries.front().name != info.entry) {
    return wrong("whose cubin has not the one entry \"" + info.entry + "\"");
  }
  const auto& entry = read->entries.front();
  if (entry.max_threads != info.threads || entry.registers != info.registers ||
      entry.static_smem_bytes != info.static_smem_bytes || entry.local_bytes != info.local_bytes) {
    return wrong("whose cubin has other threads, registers or memory");
  }
  return made_by;
}

Status check(const ImportPolicy& policy, const std::optional<SigningKey>& signer) {
  if (!signer && policy.require_signed) {
    return Error{ErrorCode::permission_denied, "bundle is not signed, and bundle.require_signed is set"};
  }
  if (!signer || policy.trusted.empty()) return {};
  if (std::find(policy.trusted.begin(), policy.trusted.end(), *signer) != policy.trusted.end()) return {};
  return Error{ErrorCode::permission_denied, "bundle is signed by a key that is not in bundle.trusted_keys"};
}

}  // namespace

Status BundleImport::append(ByteView data) {
  if (!file_) {
    file_ = nameless_file(folder_);
    if (!file_) return failed("temporary file");
  }
  if (size_ + data.size() > limits::kMaxBundleBytes) {
    return Error{ErrorCode::resource_exhausted,
                 "bundle is larger than \"" + std::to_string(limits::kMaxBundleBytes) + "\" bytes"};
  }
  while (!data.empty()) {
    const auto written = ::pwrite(file_.get(), data.data(), data.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write");
    size_ += static_cast<std::uint64_t>(written);
    data = data.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<Imported> BundleImport::finish(const ImportPolicy& policy, ArtifactStore& store) {
  Mapping mapping;
  mapping.size = size_;
  if (size_ == 0) return Error{ErrorCode::corruption, "bundle is empty"};
  mapping.address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (mapping.address == MAP_FAILED) return failed("mmap");
  CUBIND_TRY(const auto bundle, read_bundle({static_cast<const std::byte*>(mapping.address), mapping.size}));
  CUBIND_CHECK(check(policy, bundle.signer));
  Imported imported;
  for (const auto& [record, cubin] : bundle.items) {
    CUBIND_TRY(auto made_by, check(record, cubin));
    auto& known = imported.toolchains;
    if (std::find(known.begin(), known.end(), made_by) == known.end()) known.push_back(std::move(made_by));
  }
  for (const auto& toolchain : imported.toolchains) CUBIND_CHECK(store.remember_toolchain(toolchain));
  for (const auto& [record, cubin] : bundle.items) {
    Artifact artifact;
    artifact.key = record.key;
    artifact.info = record.info;
    artifact.cubin_digest = record.cubin_digest;
    artifact.cubin = std::make_shared<const Bytes>(cubin.begin(), cubin.end());
    CUBIND_CHECK(store.put(artifact, record.ingredients));
    ++imported.records;
    imported.bytes += cubin.size();
  }
  return imported;
}

}  // namespace cubind
