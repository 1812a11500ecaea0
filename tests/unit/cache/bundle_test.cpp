#include "cache/bundle.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace cubind {
namespace {

Record record(int number, const std::string& cubin) {
  Record made;
  FieldHasher hasher;
  hasher.field("family", "gemm");
  hasher.field("number", static_cast<std::uint64_t>(number));
  made.key = hasher.finish();
  made.ingredients = hasher.ingredients();
  made.cubin_digest = sha256(as_bytes(cubin));
  made.cubin_bytes = static_cast<std::uint32_t>(cubin.size());
  made.info.name = "kernel-" + std::to_string(number);
  made.info.arch = {90, '\0'};
  return made;
}

// Three records, two of which share a cubin.
const std::vector<Record> kRecords{record(1, "first cubin"), record(2, "second"), record(3, "first cubin")};

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes unsigned_bundle() {
  return joined({begin_bundle(kRecords).value(), to_bytes("first cubin"), to_bytes("second")});
}

struct Keys {
  TempFolder folder;
  std::string private_key = folder / "key.pem", public_key = folder / "key.pub";
  Keys() {
    const auto made = std::system(("openssl genpkey -algorithm ed25519 -out " + private_key +
                                   " 2>/dev/null && openssl pkey -in " + private_key + " -pubout -out " + public_key)
                                      .c_str());
    if (made != 0) throw std::runtime_error("openssl does not make a key");
  }
};

TEST(Bundle, ComesBackAsItWasWithSharedCubinsOnce) {
  EXPECT_EQ(cubins_of(kRecords), (std::vector<std::size_t>{0, 1}));
  const auto file = unsigned_bundle();
  const auto bundle = read_bundle(file);
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  ASSERT_EQ(bundle->items.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bundle->items[i].record, kRecords[i]);
  EXPECT_EQ(as_text(bundle->items[2].cubin), "first cubin");
  EXPECT_EQ(as_text(bundle->items[1].cubin), "second");
  EXPECT_FALSE(bundle->signer.has_value());
}

TEST(Bundle, AnEmptyOneIsOne) {
  EXPECT_TRUE(read_bundle(begin_bundle({}).value()).value().items.empty());
}

TEST(Bundle, ASignatureNamesItsSigner) {
  const Keys keys;
  auto file = unsigned_bundle();
  const auto signature = sign_with(keys.private_key, ByteView(file).first(kBundleHeadBytes));
  ASSERT_TRUE(signature.ok()) << signature.error().message;
  file = joined({file, signature_block(*signature)});
  const auto bundle = read_bundle(file);
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_EQ(bundle->signer, read_public_key(keys.public_key).value());
}

TEST(Bundle, EveryFlippedBitAndEveryShorterFileIsRefused) {
  const Keys keys;
  auto file = unsigned_bundle();
  const auto unsigned_size = file.size();
  file = joined({file, signature_block(sign_with(keys.private_key, ByteView(file).first(kBundleHeadBytes)).value())});
  for (std::size_t i = 0; i < file.size(); ++i) {
    auto damaged = file;
    damaged[i] ^= std::byte{1};
    EXPECT_FALSE(read_bundle(damaged).ok()) << i;
    EXPECT_EQ(read_bundle(ByteView(file).first(i)).ok(), i == unsigned_size) << i;  // without its signature it is one
  }
  EXPECT_FALSE(read_bundle(joined({file, Bytes(1)})).ok());
}

TEST(Bundle, AKeyThatItsIngredientsDoNotGiveIsRefused) {
  auto wrong = record(1, "x");
  wrong.ingredients[1].value = "2";
  const auto bundle = read_bundle(joined({begin_bundle(std::vector{wrong}).value(), to_bytes("x")}));
  ASSERT_FALSE(bundle.ok());
  EXPECT_NE(bundle.error().message.find("ingredients"), std::string::npos) << bundle.error().message;
}

TEST(Bundle, KeysThatCannotBeReadAreNamed) {
  const auto absent = sign_with("/nonexistent/key.pem", {});
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.error().message.find("/nonexistent/key.pem"), std::string::npos);
  const Keys keys;
  EXPECT_FALSE(read_public_key(keys.private_key).ok());
}

}  // namespace
}  // namespace cubind
