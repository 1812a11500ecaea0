#include "cache/side_records.hpp"

#include <random>

#include <gtest/gtest.h>

#include "protocol/limits.hpp"

namespace cubind {
namespace {

const UsageEntry kUsage{1'796'000'000'123, 42, 53'120, 1000};
const StoredFailure kFailure{"expected a ';'", "unit.cu(3): error: expected a ';'", 1'796'000'000'123};
const ToolchainIdentity kToolchain{"nvrtc-13.0.88-1a2b3c4d", 13, 0, 88, "aabb", "ccdd"};
const StoreTotals kTotals{12, 640'000, {{"nvrtc-12.9.86-00000000", 2}, {"nvrtc-13.0.88-1a2b3c4d", 10}}};

TEST(SideRecords, DecodeToWhatWasEncoded) {
  EXPECT_EQ(*decode_usage(encode_usage(kUsage)), kUsage);
  EXPECT_EQ(*decode_failure(encode_failure(kFailure)), kFailure);
  EXPECT_EQ(*decode_toolchain(encode_toolchain(kToolchain)), kToolchain);
  EXPECT_EQ(*decode_totals(encode_totals(kTotals)), kTotals);
}

template <class Decode>
void expect_only_the_whole_decodes(const Bytes& good, Decode decode) {
  for (std::size_t size = 0; size <= good.size() + 1; ++size) {
    auto bytes = good;
    bytes.resize(size);
    EXPECT_EQ(decode(bytes).ok(), size == good.size()) << size;
  }
  auto other_version = good;
  other_version[0] = std::byte{2};
  EXPECT_EQ(decode(other_version).error().code, ErrorCode::corruption);
}

TEST(SideRecords, TruncatedExtendedOrUnknownEntriesAreCorrupt) {
  expect_only_the_whole_decodes(encode_usage(kUsage), decode_usage);
  expect_only_the_whole_decodes(encode_failure(kFailure), decode_failure);
  expect_only_the_whole_decodes(encode_toolchain(kToolchain), decode_toolchain);
  expect_only_the_whole_decodes(encode_totals(kTotals), decode_totals);
}

TEST(SideRecords, LongLogsAreTrimmedToTheirLimit) {
  auto failure = kFailure;
  failure.log.assign(limits::kMaxCompileLog + 100, 'x');
  EXPECT_EQ(decode_failure(encode_failure(failure))->log.size(), limits::kMaxCompileLog);
}

TEST(SideRecords, RandomBytesNeverDecodeToMoreThanTheyHold) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes(random() % 80);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random() % 3);
    if (const auto totals = decode_totals(bytes)) {
      EXPECT_LE(totals->by_toolchain.size(), bytes.size() / 12);
    }
    if (const auto failure = decode_failure(bytes)) {
      EXPECT_LE(failure->message.size() + failure->log.size(), bytes.size());
    }
  }
}

}  // namespace
}  // namespace cubind
