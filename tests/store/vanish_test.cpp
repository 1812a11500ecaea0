// A store whose files are taken away while it runs. What it has open would go on taking records that nobody finds
// again: it notices before it acknowledges one, and begins anew in the same place.
#include <fstream>

#include <gmock/gmock.h>

#include "tests/store/store_fixture.hpp"

namespace cubind {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StoreVanishTest : public StoreTest {
 protected:
  StoreVanishTest() {
    open();
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(put(i).ok());
  }

  void is_gone_then_begins_anew(std::uint64_t number) {
    const auto failures = store_->stats().put_failures;
    EXPECT_EQ(put(number).error().code, ErrorCode::unavailable) << "not acknowledged";
    EXPECT_TRUE(store_->stats().degraded);
    EXPECT_THAT(store_->stats().reason, HasSubstr("is gone"));
    EXPECT_EQ(store_->stats().put_failures, failures + 1);
    for (std::uint64_t i = 0; i < 10; ++i) static_cast<void>(has(i));  // right or a miss

    clock_.advance(options_.first_retry);
    EXPECT_TRUE(store_->tick().ok());
    EXPECT_FALSE(store_->stats().degraded) << store_->stats().reason;
    EXPECT_EQ(store_->stats().records, 0u);
    EXPECT_EQ(store_->stats().bytes, 0u);
    EXPECT_FALSE(has(1)) << "went with the files";
    EXPECT_TRUE(put(number).ok());
    open();
    EXPECT_TRUE(has(number));
    EXPECT_EQ(list_all().size(), 1u);
  }
};

TEST_F(StoreVanishTest, ARemovedRootIsMadeAgain) {
  fs::remove_all(options_.root);
  is_gone_then_begins_anew(100);
}

TEST_F(StoreVanishTest, ARemovedFolderIsMadeAgain) {
  fs::remove_all(store_->folder());
  is_gone_then_begins_anew(100);
}

TEST_F(StoreVanishTest, AnotherFolderInTheRootsPlaceIsTaken) {
  fs::rename(options_.root, temp_ / "elsewhere");
  fs::create_directory(options_.root);
  fs::permissions(options_.root, fs::perms::owner_all);
  is_gone_then_begins_anew(100);
}

TEST_F(StoreVanishTest, ATickNoticesWithoutAPut) {
  fs::remove_all(options_.root);
  EXPECT_FALSE(store_->tick().ok());
  EXPECT_TRUE(store_->stats().degraded);
  clock_.advance(options_.first_retry);
  EXPECT_TRUE(store_->tick().ok());
  EXPECT_TRUE(put(1).ok());
}

// Until it can: a file where the root was.
TEST_F(StoreVanishTest, ARootThatCannotBeMadeKeepsItDegraded) {
  fs::remove_all(options_.root);
  std::ofstream(options_.root) << "in the way";
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(put(100).ok());
    clock_.advance(options_.longest_retry);
  }
  EXPECT_THAT(store_->stats().reason, HasSubstr("is not a folder"));
  EXPECT_FALSE(has(1));
  fs::remove(options_.root);
  clock_.advance(options_.longest_retry);
  EXPECT_TRUE(put(100).ok());
  EXPECT_TRUE(has(100));
}

TEST_F(StoreVanishTest, ARootThatAnotherDaemonTookMeanwhileIsLeftToIt) {
  fs::remove_all(options_.root);
  auto other = RocksStore::open(options_);
  ASSERT_TRUE(other.ok()) << to_string(other.error());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(put(100).ok());
    clock_.advance(options_.longest_retry);
  }
  EXPECT_THAT(store_->stats().reason, HasSubstr("in use by another daemon"));
  EXPECT_TRUE((*other)->put(test_artifact(7, 20'000), test_ingredients(7)).ok());
  other->reset();
  clock_.advance(options_.longest_retry);
  EXPECT_TRUE(put(100).ok());
  EXPECT_TRUE(has(7)) << "what the other one left";
}

}  // namespace
}  // namespace cubind
