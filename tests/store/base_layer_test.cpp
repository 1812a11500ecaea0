// A read-only store below the own one.
#include <sys/stat.h>

#include "cache/layered_store.hpp"
#include "tests/store/store_fixture.hpp"

namespace cubind {
namespace {

class BaseLayerTest : public StoreTest {
 protected:
  // What an image brings: a store that a daemon filled and closed.
  std::string baked(std::uint64_t records) {
    options_.root = temp_ / "baked";
    open();
    EXPECT_TRUE(store_->remember_toolchain({"baked-13.0", 13, 0, 88, "aa", "bb"}).ok());
    for (std::uint64_t i = 0; i < records; ++i) EXPECT_TRUE(put(i).ok());
    close();
    const auto root = options_.root;
    options_.root = temp_ / "own";
    return root;
  }
  static std::vector<std::unique_ptr<RocksBase>> layer(const std::string& root) {
    auto opened = RocksBase::open(root);
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    std::vector<std::unique_ptr<RocksBase>> layers;
    if (opened.ok()) layers.push_back(std::move(opened).value());
    return layers;
  }
  static bool has(ArtifactStore& store, std::uint64_t number) {
    const auto found = store.get(test_key(number), test_ingredients(number));
    return found.ok() && found->has_value() && *(*found)->cubin == *test_artifact(number, 20'000).cubin;
  }
};

TEST_F(BaseLayerTest, WhatTheStoreHasNotComesFromTheLayer) {
  const auto root = baked(3);
  open();
  ASSERT_TRUE(put(7).ok());
  LayeredStore layered(*store_, layer(root));
  for (const std::uint64_t number : {0, 1, 2, 7}) EXPECT_TRUE(has(layered, number)) << number;
  EXPECT_FALSE(has(layered, 8));
  const auto stats = layered.stats();
  EXPECT_EQ(stats.base_records, 3u);
  EXPECT_EQ(stats.base_hits, 3u);
  EXPECT_EQ(stats.records, 1u) << "a hit below is not copied";
  ASSERT_EQ(layered.known_toolchains().size(), 1u);
  EXPECT_EQ(layered.known_toolchains()[0].id, "baked-13.0");
}

TEST_F(BaseLayerTest, ListingAndErasingSeeTheStoreOnly) {
  const auto root = baked(2);
  open();
  LayeredStore layered(*store_, layer(root));
  EXPECT_TRUE(layered.list({}, 10).value().empty());
  EXPECT_EQ(layered.erase(test_key(0)).value(), 0u);
  EXPECT_TRUE(has(layered, 0));
}

TEST_F(BaseLayerTest, TwoDaemonsShareOneAndNothingInItChanges) {
  const auto root = baked(2);
  std::map<std::string, std::filesystem::file_time_type> before, after;
  const auto times = [&root](auto& into) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      into[entry.path()] = entry.last_write_time();
    }
  };
  times(before);
  {
    open();
    LayeredStore one(*store_, layer(root)), other(*store_, layer(root));
    EXPECT_TRUE(has(one, 0));
    EXPECT_TRUE(has(other, 1));
  }
  times(after);
  EXPECT_EQ(before, after);
}

TEST_F(BaseLayerTest, WrongKeyFieldsAreAMissAndCounted) {
  const auto root = baked(1);
  auto layers = layer(root);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_FALSE(layers[0]->get(test_key(0), test_ingredients(5)).has_value());
  EXPECT_EQ(layers[0]->corrupt_records(), 1u);
}

TEST_F(BaseLayerTest, WhatIsNoStoreOrCanBeWrittenByOthersIsRefused) {
  const auto absent = RocksBase::open(temp_ / "absent");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  std::filesystem::create_directories(temp_ / "empty");
  EXPECT_FALSE(RocksBase::open(temp_ / "empty").ok());
  const auto root = baked(1);
  ASSERT_EQ(::chmod(root.c_str(), 0777), 0);
  const auto writable = RocksBase::open(root);
  ASSERT_FALSE(writable.ok());
  EXPECT_EQ(writable.error().code, ErrorCode::permission_denied);
}

}  // namespace
}  // namespace cubind
