// What lies on the disk: records, with the checksum as it came and with one that fits, and the small entries beside
// them. What decodes is encoded to the same bytes.
#include <algorithm>
#include <span>

#include "base/digest.hpp"
#include "cache/record.hpp"
#include "cache/side_records.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

constexpr std::size_t kHeaderBytes = 12, kChecksumBytes = 16;

void check(cubind::ByteView bytes) {
  const auto record = cubind::decode_record(bytes);
  if (!record.ok()) return;
  const auto encoded = cubind::encode_record(*record);
  cubind::fuzz::require(!encoded.ok() || std::equal(encoded->begin(), encoded->end(), bytes.begin(), bytes.end()));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = cubind::fuzz::view(data, size);
  check(bytes);
  if (size >= kHeaderBytes + kChecksumBytes) {  // as somebody would write it who knows the format
    cubind::Bytes made(bytes.begin(), bytes.end());
    cubind::store_le(made.data() + 8, static_cast<std::uint32_t>(size - kHeaderBytes - kChecksumBytes));
    const auto digest = cubind::sha256(cubind::ByteView(made).first(size - kChecksumBytes));
    std::copy_n(std::as_bytes(std::span(digest.bytes)).begin(), kChecksumBytes, made.end() - kChecksumBytes);
    check(made);
  }
  static_cast<void>(cubind::decode_usage(bytes));
  static_cast<void>(cubind::decode_failure(bytes));
  static_cast<void>(cubind::decode_totals(bytes));
  static_cast<void>(cubind::decode_toolchain(bytes));
  return 0;
}
