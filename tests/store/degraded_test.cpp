// Disks that are full, read-only or sick: serving goes on, health says so, and the store comes back by itself. A
// program of its own: it gives itself faults and mounts.
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/store/store_fixture.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;

// The third put of the process finds the disk full; the first try to recover fails.
[[maybe_unused]] const int kFaults = ::setenv("CUBIND_FAULT", "store.put.enospc=fail@3,store.recover=fail@1", 1);

class StoreDegradedTest : public StoreTest {};

TEST_F(StoreDegradedTest, AFullDiskDegradesAndTheStoreComesBack) {
  open();
  ASSERT_TRUE(put(1).ok());
  ASSERT_TRUE(put(2).ok());
  EXPECT_EQ(put(3).error().code, ErrorCode::resource_exhausted);
  EXPECT_TRUE(store_->stats().degraded);
  EXPECT_THAT(store_->stats().reason, HasSubstr("no space"));
  EXPECT_TRUE(has(1)) << "reading goes on";
  EXPECT_EQ(put(4).error().code, ErrorCode::resource_exhausted) << "answered at once, without a try";
  EXPECT_EQ(store_->stats().put_failures, 2u);

  clock_.advance(options_.first_retry);
  EXPECT_EQ(store_->try_recover().error().code, ErrorCode::unavailable);  // told to fail
  clock_.advance(options_.first_retry);
  EXPECT_FALSE(store_->try_recover().ok()) << "the pause has doubled";
  clock_.advance(options_.first_retry);
  EXPECT_TRUE(put(5).ok()) << "a put tries too";
  EXPECT_FALSE(store_->stats().degraded);
  EXPECT_TRUE(has(5));
  open();
  EXPECT_TRUE(has(1) && has(2) && has(5));
  EXPECT_FALSE(has(3) || has(4));
}

}  // namespace
}  // namespace cubind
