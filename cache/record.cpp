#include "cache/record.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "cache/byte_codec.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

constexpr std::uint32_t kMagic = 0x43524243;  // "CBRC"
constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kChecksumBytes = 16;

Error too_long(std::string_view field, std::size_t size, std::size_t bound) {
  return {ErrorCode::invalid_argument, "record field " + std::string(field) + " has \"" + std::to_string(size) +
                                           "\" bytes, the most is " + std::to_string(bound)};
}

Status check_bounds(const Record& record) {
  const auto& info = record.info;
  for (const auto& [field, value] : {std::pair<std::string_view, const std::string&>{"name", info.name},
                                     {"entry", info.entry},
                                     {"toolchain", info.toolchain}}) {
    if (value.size() > limits::kMaxText) return too_long(field, value.size(), limits::kMaxText);
  }
  if (info.log.size() > limits::kMaxCompileLog) return too_long("log", info.log.size(), limits::kMaxCompileLog);
  if (!std::isfinite(info.compile_ms)) {
    return Error{ErrorCode::invalid_argument,
                 "record field compile_ms \"" + std::to_string(info.compile_ms) + "\" is not a finite number"};
  }
  if (record.ingredients.size() > kMaxIngredients) {
    return Error{ErrorCode::invalid_argument, "record has \"" + std::to_string(record.ingredients.size()) +
                                                  "\" ingredients, the most is " + std::to_string(kMaxIngredients)};
  }
  for (const auto& [name, value] : record.ingredients) {
    if (name.size() > limits::kMaxText) return too_long("ingredient name", name.size(), limits::kMaxText);
    if (value.size() > kMaxIngredientBytes) return too_long(name, value.size(), kMaxIngredientBytes);
  }
  if (record.signature.size() > kMaxSignatureBytes) {
    return too_long("signature", record.signature.size(), kMaxSignatureBytes);
  }
  return {};
}

void write_info(ByteWriter& out, const KernelInfo& info) {
  out.text(info.name);
  out.text(info.entry);
  out.number(info.arch.number);
  out.number(static_cast<std::uint8_t>(info.arch.suffix));
  for (const auto value : {info.launch_abi, info.weight_layout, info.tile_m, info.tile_n, info.tile_k, info.threads,
                           info.smem_bytes, info.static_smem_bytes, info.registers, info.local_bytes}) {
    out.number(value);
  }
  out.text(info.toolchain);
  out.number(std::bit_cast<std::uint64_t>(info.compile_ms));
  out.number(info.compile_peak_bytes);
  out.text(info.log);
}

KernelInfo read_info(ByteReader& in) {
  KernelInfo info;
  info.name = in.text(limits::kMaxText);
  info.entry = in.text(limits::kMaxText);
  info.arch.number = in.number<std::uint16_t>();
  info.arch.suffix = static_cast<char>(in.number<std::uint8_t>());
  for (auto* field : {&info.launch_abi, &info.weight_layout, &info.tile_m, &info.tile_n, &info.tile_k, &info.threads,
                      &info.smem_bytes, &info.static_smem_bytes, &info.registers, &info.local_bytes}) {
    *field = in.number<std::uint32_t>();
  }
  info.toolchain = in.text(limits::kMaxText);
  info.compile_ms = std::bit_cast<double>(in.number<std::uint64_t>());
  info.compile_peak_bytes = in.number<std::uint64_t>();
  info.log = in.text(limits::kMaxCompileLog);
  return info;
}

Error corrupt(std::string what) {
  return {ErrorCode::corruption, "record " + std::move(what)};
}

}  // namespace

Result<Bytes> encode_record(const Record& record) {
  CUBIND_CHECK(check_bounds(record));
  ByteWriter payload;
  payload.digest(record.key);
  payload.digest(record.cubin_digest);
  payload.number(record.cubin_bytes);
  payload.number(record.created_ms);
  write_info(payload, record.info);
  payload.number(static_cast<std::uint16_t>(record.ingredients.size()));
  for (const auto& [name, value] : record.ingredients) {
    payload.text(name);
    payload.text(value);
  }
  payload.text(as_text(record.signature));

  ByteWriter out;
  out.number(kMagic);
  out.number(kRecordSchema);
  out.number(std::uint16_t{0});
  out.number(static_cast<std::uint32_t>(payload.size()));
  out.raw(payload.take());
  auto bytes = out.take();
  if (bytes.size() + kChecksumBytes > kMaxRecordBytes) {
    return too_long("ingredients", bytes.size(), kMaxRecordBytes - kChecksumBytes);
  }
  const auto digest = sha256(bytes);
  const auto checksum = std::as_bytes(std::span(digest.bytes)).first(kChecksumBytes);
  bytes.insert(bytes.end(), checksum.begin(), checksum.end());
  return bytes;
}

Result<Record> decode_record(ByteView bytes) {
  if (bytes.size() < kHeaderBytes + kChecksumBytes || bytes.size() > kMaxRecordBytes) {
    return corrupt("of \"" + std::to_string(bytes.size()) + "\" bytes has an impossible size");
  }
  ByteReader header(bytes);
  if (header.number<std::uint32_t>() != kMagic) return corrupt("does not begin with its magic");
  if (const auto schema = header.number<std::uint16_t>(); schema != kRecordSchema) {
    return corrupt("has schema \"" + std::to_string(schema) + "\", not " + std::to_string(kRecordSchema));
  }
  const auto reserved = header.number<std::uint16_t>();
  const auto payload_size = header.number<std::uint32_t>();
  if (reserved != 0 || payload_size != bytes.size() - kHeaderBytes - kChecksumBytes) {
    return corrupt("has a header that does not fit its size");
  }
  const auto computed = sha256(bytes.first(bytes.size() - kChecksumBytes));
  const auto stored = bytes.last(kChecksumBytes);
  if (!std::equal(stored.begin(), stored.end(), std::as_bytes(std::span(computed.bytes)).begin())) {
    return corrupt("fails its checksum");
  }

  // The checksum keeps accidents out; what follows also holds against bytes somebody made.
  ByteReader in(bytes.subspan(kHeaderBytes, payload_size));
  Record record;
  record.key = in.digest();
  record.cubin_digest = in.digest();
  record.cubin_bytes = in.number<std::uint32_t>();
  record.created_ms = in.number<std::uint64_t>();
  record.info = read_info(in);
  const auto count = in.number<std::uint16_t>();
  if (count > kMaxIngredients) return corrupt("has too many ingredients");
  for (std::uint16_t i = 0; i < count && in.ok(); ++i) {
    auto name = in.text(limits::kMaxText);
    auto value = in.text(kMaxIngredientBytes);
    record.ingredients.push_back({std::move(name), std::move(value)});
  }
  record.signature = to_bytes(in.text(kMaxSignatureBytes));
  if (!in.done()) return corrupt("has fields that do not fit its size");
  if (record.cubin_bytes > limits::kMaxCubinBytes) return corrupt("names a cubin larger than any");
  if (!std::isfinite(record.info.compile_ms)) return corrupt("has a compile time that is not a number");
  return record;
}

}  // namespace cubind
