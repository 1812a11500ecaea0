// Disks that are really full or read-only: a small file system in a mount namespace of our own. A program of its own:
// the namespace is the calling thread's, so no thread of RocksDB's pool may be older than it.
#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/store/store_fixture.hpp"

namespace cubind {
namespace {

namespace fs = std::filesystem;

class StoreOnSmallDiskTest : public StoreTest {
 protected:
  void SetUp() override {
    static const bool private_mounts = [] {
      const int flags = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
      return ::unshare(flags) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    }();
    if (!private_mounts) GTEST_SKIP() << "no right to mount in a namespace of our own";
    fs::create_directory(options_.root);
    if (::mount("none", options_.root.c_str(), "tmpfs", MS_NOSUID, "size=24m,mode=0700") != 0) {
      GTEST_SKIP() << "no right to mount";
    }
    mounted_ = true;
  }
  void TearDown() override {
    close();
    if (mounted_) ::umount2(options_.root.c_str(), MNT_DETACH);
  }

  std::string ballast() const { return options_.root + "/ballast"; }
  void fill(int megabytes) {
    std::ofstream file(ballast(), std::ios::app);
    const std::string block(4096, 'b');
    for (int i = 0; i < megabytes * 256 && file; ++i) file << block << std::flush;
  }

 private:
  bool mounted_ = false;
};

TEST_F(StoreOnSmallDiskTest, WritesUntilFullServesAndComesBackWhenThereIsRoom) {
  open();
  fill(8);
  std::uint64_t stored = 0;
  Status status;
  while (stored < 1000 && (status = put(stored, 200'000)).ok()) ++stored;
  ASSERT_FALSE(status.ok()) << "24 MB hold no 200 MB";
  EXPECT_EQ(status.error().code, ErrorCode::resource_exhausted) << to_string(status.error());
  EXPECT_TRUE(store_->stats().degraded);
  for (std::uint64_t i = 0; i < stored; ++i) EXPECT_TRUE(has(i, 200'000)) << i << " of " << stored;
  fill(24);
  for (int i = 0; i < 3; ++i) {
    clock_.advance(options_.longest_retry);
    EXPECT_FALSE(store_->tick().ok()) << "still full";
  }
  EXPECT_TRUE(has(0, 200'000));

  fs::remove(ballast());
  clock_.advance(options_.longest_retry);
  EXPECT_TRUE(store_->tick().ok());
  EXPECT_FALSE(store_->stats().degraded) << store_->stats().reason;
  status = put(5000);
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  open();
  for (std::uint64_t i = 0; i < stored; ++i) EXPECT_TRUE(has(i, 200'000)) << i << " of " << stored;
  EXPECT_TRUE(has(5000));
}

TEST_F(StoreOnSmallDiskTest, AFlushThatFindsNoRoomIsTriedAgain) {
  open();
  for (std::uint64_t i = 0; i < 30; ++i) ASSERT_TRUE(put(i, 200'000).ok());
  fill(24);
  clock_.advance(limits::kUsageFlush + std::chrono::seconds(1));
  static_cast<void>(store_->tick());  // flushes after a burst of puts
  static_cast<void>(store_->tick());
  EXPECT_TRUE(store_->stats().degraded);
  for (std::uint64_t i = 0; i < 30; ++i) EXPECT_TRUE(has(i, 200'000)) << i;
  fs::remove(ballast());
  clock_.advance(options_.longest_retry);
  const auto status = store_->tick();
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_TRUE(put(100).ok());
  open();
  for (std::uint64_t i = 0; i < 30; ++i) EXPECT_TRUE(has(i, 200'000)) << i;
}

TEST_F(StoreOnSmallDiskTest, ClosingOnAFullDiskLosesNothing) {
  open();
  for (std::uint64_t i = 0; i < 30; ++i) ASSERT_TRUE(put(i, 200'000).ok());
  fill(24);
  open();
  EXPECT_TRUE(has(0, 200'000));
  fs::remove(ballast());
  open();
  EXPECT_FALSE(store_->stats().degraded) << store_->stats().reason;
  for (std::uint64_t i = 0; i < 30; ++i) EXPECT_TRUE(has(i, 200'000)) << i;
}

TEST_F(StoreOnSmallDiskTest, ACompactionThatFindsNoRoomIsTriedAgain) {
  open();
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(put(i, 200'000).ok());
  open();  // all in blob files now
  for (std::uint64_t i = 0; i < 40; i += 2) ASSERT_TRUE(store_->erase(test_key(i)).ok());
  fill(24);
  for (int i = 0; i < 3; ++i) {
    clock_.advance(options_.longest_retry);
    static_cast<void>(store_->tick());
  }
  for (std::uint64_t i = 1; i < 40; i += 2) EXPECT_TRUE(has(i, 200'000)) << i;
  fs::remove(ballast());
  for (int i = 0; i < 3; ++i) {
    clock_.advance(options_.longest_retry);
    EXPECT_TRUE(store_->tick().ok() || i == 0);
  }
  EXPECT_FALSE(store_->stats().degraded) << store_->stats().reason;
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(has(i, 200'000), i % 2 == 1) << i;
  EXPECT_LE(disk_bytes(), 3'500'000u) << "what was erased gave its space back";
}

TEST_F(StoreOnSmallDiskTest, AReadOnlyDiskStillGivesItsHits) {
  open();
  ASSERT_TRUE(put(1).ok());
  close();
  const auto remount = [&](unsigned long flags) {
    return ::mount("none", options_.root.c_str(), nullptr, MS_REMOUNT | MS_NOSUID | flags, nullptr);
  };
  ASSERT_EQ(remount(MS_RDONLY), 0);
  open();
  EXPECT_TRUE(store_->stats().degraded);
  EXPECT_TRUE(has(1));
  EXPECT_EQ(put(2).error().code, ErrorCode::unavailable);
  EXPECT_EQ(list_all().size(), 1u);

  ASSERT_EQ(remount(0), 0);
  clock_.advance(options_.longest_retry);
  EXPECT_TRUE(put(2).ok());
  EXPECT_FALSE(store_->stats().degraded);
  EXPECT_TRUE(has(1) && has(2));
}

// Taken away as `umount --lazy` does it, with all its files open; then there is another disk, then the first again.
TEST_F(StoreOnSmallDiskTest, ADiskThatIsTakenAwayIsMissedAndTakenBack) {
  open();
  ASSERT_TRUE(put(1).ok());
  const auto aside = temp_ / "aside";
  fs::create_directory(aside);
  ASSERT_EQ(::mount(options_.root.c_str(), aside.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(::umount2(options_.root.c_str(), MNT_DETACH), 0);
  fs::permissions(options_.root, fs::perms::owner_all);
  EXPECT_FALSE(put(2).ok()) << "not acknowledged: nobody would find it again";
  EXPECT_TRUE(store_->stats().degraded);
  clock_.advance(options_.first_retry);
  EXPECT_TRUE(put(3).ok()) << "on the disk that is there";
  EXPECT_FALSE(has(1));

  ASSERT_EQ(::mount(aside.c_str(), options_.root.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(::umount2(aside.c_str(), MNT_DETACH), 0);
  EXPECT_FALSE(put(4).ok());
  clock_.advance(options_.first_retry);
  EXPECT_TRUE(put(4).ok());
  EXPECT_TRUE(has(1) && has(4));
  EXPECT_FALSE(has(3)) << "it is on the other disk";
}

TEST_F(StoreOnSmallDiskTest, AStoreThatCannotBeginOnAFullDiskBeginsLater) {
  fill(24);
  open();
  EXPECT_TRUE(store_->stats().degraded);
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(put(1).ok());
  fs::remove(ballast());
  clock_.advance(options_.longest_retry);
  EXPECT_TRUE(put(1).ok());
  EXPECT_TRUE(has(1));
}

}  // namespace
}  // namespace cubind
