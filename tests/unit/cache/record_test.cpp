#include "cache/record.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/limits.hpp"
#include "tests/support/test_artifacts.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;

Record example() {
  const auto artifact = test_artifact(7, 100);
  Record record;
  record.key = artifact.key;
  record.cubin_digest = artifact.cubin_digest;
  record.cubin_bytes = 100;
  record.created_ms = 1'796'000'000'123;
  record.info = artifact.info;
  record.info.arch = Arch{90, 'a'};
  record.info.static_smem_bytes = 1024;
  record.info.local_bytes = 8;
  record.ingredients = test_ingredients(7);
  record.signature = to_bytes("room for a signature");
  return record;
}

// Gives bytes that were changed on purpose a checksum that fits, as somebody who makes records would.
void sign(Bytes& bytes) {
  const auto digest = sha256(ByteView(bytes).first(bytes.size() - 16));
  std::memcpy(bytes.data() + bytes.size() - 16, digest.bytes.data(), 16);
}

std::string golden_path() {
  return std::string(CUBIND_GOLDEN_DIR) + "/record/v1.bin";
}

TEST(Record, DecodesToWhatWasEncoded) {
  const auto bytes = encode_record(example());
  ASSERT_TRUE(bytes.ok()) << to_string(bytes.error());
  const auto record = decode_record(*bytes);
  ASSERT_TRUE(record.ok()) << to_string(record.error());
  EXPECT_EQ(*record, example());
}

TEST(Record, Version1IsTheGoldenBytesForEver) {
  std::ifstream file(golden_path(), std::ios::binary);
  ASSERT_TRUE(file) << golden_path();
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  const auto encoded = encode_record(example());
  ASSERT_TRUE(encoded.ok());
  if (std::getenv("CUBIND_WRITE_GOLDEN") != nullptr) {  // only for a new schema, into a new file
    std::ofstream(golden_path(), std::ios::binary) << as_text(*encoded);
  }
  EXPECT_EQ(as_text(*encoded), golden);
  const auto decoded = decode_record(as_bytes(golden));
  ASSERT_TRUE(decoded.ok()) << to_string(decoded.error());
  EXPECT_EQ(*decoded, example());
}

TEST(Record, EveryFlippedBitIsSeen) {
  const auto good = *encode_record(example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bytes = good;
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      const auto record = decode_record(bytes);
      ASSERT_FALSE(record.ok()) << "byte " << i << " bit " << bit;
      EXPECT_EQ(record.error().code, ErrorCode::corruption);
    }
  }
}

TEST(Record, EveryTruncationIsSeen) {
  const auto good = *encode_record(example());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_record(ByteView(good).first(size)).ok()) << size;
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_record(longer).ok());
}

TEST(Record, HostileBytesWithAFittingChecksumAreRefusedOrHarmless) {
  const auto good = *encode_record(example());
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = good;
    if (round % 4 == 0) {  // another size, with a header that agrees
      bytes.resize(28 + random() % 400, static_cast<std::byte>(random()));
      store_le(bytes.data() + 8, static_cast<std::uint32_t>(bytes.size() - 28));
    }
    for (int change = 0; change < 4; ++change) {
      const auto at = 12 + random() % (bytes.size() - 12);
      bytes[at] = static_cast<std::byte>(change % 2 == 0 ? 0xff : random());
    }
    sign(bytes);
    const auto record = decode_record(bytes);
    if (!record) {
      EXPECT_EQ(record.error().code, ErrorCode::corruption);
      continue;
    }
    EXPECT_LE(record->cubin_bytes, limits::kMaxCubinBytes);
    EXPECT_TRUE(std::isfinite(record->info.compile_ms));
    const auto again = encode_record(*record);  // what decodes also encodes, to the same bytes
    ASSERT_TRUE(again.ok()) << to_string(again.error());
    EXPECT_EQ(as_text(*again), as_text(bytes));
  }
}

TEST(Record, AnotherSchemaIsNotRead) {
  auto bytes = *encode_record(example());
  bytes[4] = std::byte{2};
  sign(bytes);
  const auto record = decode_record(bytes);
  ASSERT_FALSE(record.ok());
  EXPECT_THAT(record.error().message, HasSubstr("schema \"2\""));
}

TEST(Record, FieldsPastTheirBoundsAreNamed) {
  auto record = example();
  record.info.log.assign(limits::kMaxCompileLog + 1, 'x');
  EXPECT_THAT(encode_record(record).error().message, HasSubstr("log"));

  record = example();
  record.ingredients.assign(kMaxIngredients + 1, {"name", "value"});
  EXPECT_THAT(encode_record(record).error().message, HasSubstr("ingredients"));

  record = example();
  record.ingredients[1].value.assign(kMaxIngredientBytes + 1, 'x');
  EXPECT_THAT(encode_record(record).error().message, HasSubstr("config"));

  record = example();
  record.ingredients.assign(17, {"name", std::string(kMaxIngredientBytes, 'x')});
  EXPECT_EQ(encode_record(record).error().code, ErrorCode::invalid_argument);

  record = example();
  record.info.compile_ms = std::nan("");
  EXPECT_THAT(encode_record(record).error().message, HasSubstr("compile_ms"));
}

}  // namespace
}  // namespace cubind
