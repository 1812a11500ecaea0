#include "cache/side_records.hpp"

#include "cache/byte_codec.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint32_t kMaxToolchains = 4096;  // of one totals entry; a node has a handful

ByteWriter begin() {
  ByteWriter out;
  out.number(kVersion);
  return out;
}

ByteReader begin(ByteView bytes, bool& known) {
  ByteReader in(bytes);
  known = in.number<std::uint8_t>() == kVersion;
  return in;
}

Error corrupt(std::string_view what) {
  return {ErrorCode::corruption, std::string(what) + " entry does not decode"};
}

}  // namespace

Bytes encode_usage(const UsageEntry& usage) {
  auto out = begin();
  out.number(usage.last_used_ms);
  out.number(usage.hits);
  out.number(usage.bytes);
  out.number(usage.owner);
  return out.take();
}

Result<UsageEntry> decode_usage(ByteView bytes) {
  bool known = false;
  auto in = begin(bytes, known);
  UsageEntry usage;
  usage.last_used_ms = in.number<std::uint64_t>();
  usage.hits = in.number<std::uint64_t>();
  usage.bytes = in.number<std::uint64_t>();
  usage.owner = in.number<std::uint32_t>();
  if (!known || !in.done()) return corrupt("usage");
  return usage;
}

Bytes encode_failure(const StoredFailure& failure) {
  auto out = begin();
  out.number(failure.expires_ms);
  out.text(std::string_view(failure.message).substr(0, limits::kMaxText));
  out.text(std::string_view(failure.log).substr(0, limits::kMaxCompileLog));
  return out.take();
}

Result<StoredFailure> decode_failure(ByteView bytes) {
  bool known = false;
  auto in = begin(bytes, known);
  StoredFailure failure;
  failure.expires_ms = in.number<std::uint64_t>();
  failure.message = in.text(limits::kMaxText);
  failure.log = in.text(limits::kMaxCompileLog);
  if (!known || !in.done()) return corrupt("failure");
  return failure;
}

Bytes encode_totals(const StoreTotals& totals) {
  auto out = begin();
  out.number(totals.records);
  out.number(totals.bytes);
  out.number(static_cast<std::uint32_t>(totals.by_toolchain.size()));
  for (const auto& [id, records] : totals.by_toolchain) {
    out.text(id);
    out.number(records);
  }
  return out.take();
}

Result<StoreTotals> decode_totals(ByteView bytes) {
  bool known = false;
  auto in = begin(bytes, known);
  StoreTotals totals;
  totals.records = in.number<std::uint64_t>();
  totals.bytes = in.number<std::uint64_t>();
  const auto count = in.number<std::uint32_t>();
  if (!known || !in.ok() || count > kMaxToolchains) return corrupt("totals");
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    auto id = in.text(limits::kMaxText);
    totals.by_toolchain[std::move(id)] = in.number<std::uint64_t>();
  }
  if (!in.done()) return corrupt("totals");
  return totals;
}

Bytes encode_toolchain(const ToolchainIdentity& toolchain) {
  auto out = begin();
  out.text(toolchain.id);
  out.number(toolchain.major);
  out.number(toolchain.minor);
  out.number(toolchain.patch);
  out.text(toolchain.build_id);
  out.text(toolchain.builtins_build_id);
  return out.take();
}

Result<ToolchainIdentity> decode_toolchain(ByteView bytes) {
  bool known = false;
  auto in = begin(bytes, known);
  ToolchainIdentity toolchain;
  toolchain.id = in.text(limits::kMaxText);
  toolchain.major = in.number<std::uint32_t>();
  toolchain.minor = in.number<std::uint32_t>();
  toolchain.patch = in.number<std::uint32_t>();
  toolchain.build_id = in.text(limits::kMaxText);
  toolchain.builtins_build_id = in.text(limits::kMaxText);
  if (!known || !in.done()) return corrupt("toolchain");
  return toolchain;
}

}  // namespace cubind
