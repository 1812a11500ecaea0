#include "base/digest.hpp"

#include <gtest/gtest.h>

namespace cubind {
namespace {

TEST(Digest, Sha256OfAbcIsTheValueOfTheStandard) {
  EXPECT_EQ(sha256(as_bytes("abc")).hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, HexGoesThereAndBack) {
  const auto digest = sha256(as_bytes("x"));
  const auto parsed = Digest::from_hex(digest.hex());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, digest);
}

TEST(Digest, BadHexIsRefusedNamingTheValue) {
  for (const char* bad : {"", "ab", "zz7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}) {
    const auto parsed = Digest::from_hex(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(parsed.error().message.find(bad), std::string::npos);
  }
}

TEST(FieldHasher, FieldBoundariesCount) {
  FieldHasher a, b, c;
  a.field("ab", "c");
  b.field("a", "bc");
  c.field("ab", "c");
  EXPECT_NE(a.finish(), b.finish());
  EXPECT_EQ(a.finish(), c.finish());
}

TEST(FieldHasher, OrderCounts) {
  FieldHasher a, b;
  a.field("x", "1");
  a.field("y", "2");
  b.field("y", "2");
  b.field("x", "1");
  EXPECT_NE(a.finish(), b.finish());
}

TEST(Digest, ItsShortFormIsTheFirstTwelveDigits) {
  const auto digest = sha256(as_bytes("a"));
  EXPECT_EQ(digest.short_hex(), digest.hex().substr(0, 12));
}

}  // namespace
}  // namespace cubind
