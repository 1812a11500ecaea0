// Bits that flip, files that shrink or go: a miss, never wrong bytes, and the store takes records again.
#include <algorithm>
#include <fstream>
#include <functional>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/store/store_fixture.hpp"

namespace cubind {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRecords = 30;

class StoreDamageTest : public StoreTest {
 protected:
  StoreDamageTest() : good_(temp_ / "good") {
    open();
    for (std::uint64_t i = 0; i < kRecords; ++i) EXPECT_TRUE(put(i).ok());
  }

  std::vector<std::string> files(const std::string& extension) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(good_ + "/v1")) {
      const auto name = entry.path().filename().string();
      if (name.size() >= extension.size() && name.find(extension) != std::string::npos) found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // Keeps the store as it is on disk now as what each damage starts from.
  void keep() {
    fs::remove_all(good_);
    fs::copy(options_.root, good_, fs::copy_options::recursive);
  }

  // The store as it was kept, with `damage` done to one file.
  void open_damaged(const std::string& name, const std::function<void(const std::string&)>& damage) {
    close();
    fs::remove_all(options_.root);
    fs::copy(good_, options_.root, fs::copy_options::recursive);
    damage(options_.root + "/v1/" + name);
    open();
  }

  // Every answer is right or a miss; what is missing can be put again and is there then.
  std::uint64_t misses_and_mends() {
    std::uint64_t misses = 0;
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      if (has(i)) continue;
      ++misses;
      auto status = put(i);
      if (!status) {  // a latched error: the next try, a little later, must do
        clock_.advance(options_.longest_retry);
        status = put(i);
      }
      EXPECT_TRUE(status.ok()) << to_string(status.error());
      EXPECT_TRUE(has(i)) << i;
    }
    return misses;
  }

  const std::string good_;
};

void flip(const std::string& path, double where) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto size = static_cast<std::streamoff>(fs::file_size(path));
  const auto at = static_cast<std::streamoff>(static_cast<double>(size - 1) * where);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(at);
  file.put(byte);
}

TEST_F(StoreDamageTest, AFlippedBitInACubinIsAMissThatMendsItself) {
  close();
  keep();
  const auto blobs = files(".blob");
  ASSERT_FALSE(blobs.empty());
  for (const auto& name : blobs) {
    for (const double where : {0.1, 0.5, 0.9}) {
      open_damaged(name, [&](const auto& path) { flip(path, where); });
      EXPECT_EQ(misses_and_mends(), 1u) << name << " at " << where;
      EXPECT_EQ(store_->stats().corrupt_records, 1u);
      EXPECT_EQ(store_->stats().records, kRecords);
      EXPECT_EQ(store_->stats().bytes, kRecords * 20'000);
      ASSERT_TRUE(store_->tick().ok());
      EXPECT_EQ(misses_and_mends(), 0u);
    }
  }
}

TEST_F(StoreDamageTest, ABadCubinIsBadForAllWhoShareIt) {
  const auto artifact = test_artifact(test_key(100), test_cubin(0, 20'000));  // the bytes of record 0
  ASSERT_TRUE(store_->put(artifact, test_ingredients(100)).ok());
  for (std::uint64_t i = 1; i < kRecords; ++i) ASSERT_TRUE(store_->erase(test_key(i)).ok());
  close();
  keep();
  for (const auto& name : files(".blob")) {
    open_damaged(name, [&](const auto& path) {
      for (int i = 1; i < 1000; ++i) flip(path, i / 1000.0);
    });
    EXPECT_FALSE(has(0));
    EXPECT_EQ(store_->stats().records, 0u);
    EXPECT_EQ(store_->stats().bytes, 0u);
    EXPECT_FALSE(store_->get(test_key(100), {})->has_value());
    EXPECT_EQ(store_->stats().corrupt_records, 1u);
  }
}

TEST_F(StoreDamageTest, FlippedBitsInTablesNeverGiveWrongBytes) {
  close();
  keep();
  const auto tables = files(".sst");
  ASSERT_FALSE(tables.empty());
  std::uint64_t misses = 0;
  for (const auto& name : tables) {
    for (const double where : {0.0, 0.4, 0.97}) {
      open_damaged(name, [&](const auto& path) { flip(path, where); });
      misses += misses_and_mends();
      for (int i = 0; i < 4; ++i) {  // a damaged table may latch an error at its next compaction
        clock_.advance(options_.longest_retry);
        static_cast<void>(store_->tick());
      }
      misses += misses_and_mends();
      EXPECT_EQ(misses_and_mends(), 0u) << name << " at " << where;
    }
  }
  EXPECT_GT(misses, 0u);
}

TEST_F(StoreDamageTest, FlippedBitsInTheLogNeverGiveWrongBytes) {
  keep();  // while it is open: as a crash would leave it, with the records in the log
  const auto logs = files(".log");
  ASSERT_FALSE(logs.empty());
  std::uint64_t misses = 0;
  for (const auto& name : logs) {
    for (const double where : {0.01, 0.3, 0.7, 0.999}) {
      open_damaged(name, [&](const auto& path) {
        if (fs::file_size(path) > 0) flip(path, where);
      });
      misses += misses_and_mends();
      ASSERT_TRUE(store_->tick().ok());
      EXPECT_EQ(misses_and_mends(), 0u);
      EXPECT_EQ(store_->stats().records, kRecords);
    }
  }
  EXPECT_GT(misses, 0u) << "what came after the hole is gone";
}

TEST_F(StoreDamageTest, ATornLogLosesOnlyItsTail) {
  keep();
  auto logs = files(".log");
  ASSERT_FALSE(logs.empty());
  open_damaged(logs.back(), [](const auto& path) { fs::resize_file(path, fs::file_size(path) - 1); });
  EXPECT_EQ(misses_and_mends(), 1u);
}

TEST_F(StoreDamageTest, TruncatedOrMissingFilesCostAtMostTheStore) {
  close();
  keep();
  for (const std::string kind : {".blob", ".sst", "MANIFEST", "CURRENT", "OPTIONS", "IDENTITY"}) {
    auto names = files(kind);
    names.resize(std::min<std::size_t>(names.size(), 2));
    for (const auto& name : names) {
      for (const int damage : {0, 1, 2}) {
        open_damaged(name, [&](const auto& path) {
          if (damage == 0) fs::resize_file(path, fs::file_size(path) / 2);
          if (damage == 1) fs::resize_file(path, 0);
          if (damage == 2) fs::remove(path);
        });
        misses_and_mends();
        for (int i = 0; i < 4; ++i) {
          clock_.advance(options_.longest_retry);
          static_cast<void>(store_->tick());
        }
        misses_and_mends();
        EXPECT_EQ(misses_and_mends(), 0u) << name << " damage " << damage;
        EXPECT_FALSE(store_->stats().degraded) << name << " damage " << damage << ": " << store_->stats().reason;
      }
    }
  }
}

// Row E5 of docs/faults.md: somebody changed the rights of the files.
TEST_F(StoreDamageTest, ADatabaseThatMayNotBeReadIsSetAsideToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody who may not read everything";
  close();
  constexpr uid_t kNobody = 65534;
  const auto locked = options_.root + "/v1/CURRENT";
  ASSERT_EQ(::chown(temp_.path().c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::chown(options_.root.c_str(), kNobody, kNobody), 0);
  for (const auto& entry : fs::recursive_directory_iterator(options_.root)) {
    ASSERT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
  }
  ASSERT_EQ(::chmod(locked.c_str(), 0), 0);
  ASSERT_EQ(::seteuid(kNobody), 0);
  open();
  EXPECT_EQ(store_->stats().set_aside, 1u);
  EXPECT_FALSE(store_->stats().degraded) << store_->stats().reason;
  EXPECT_FALSE(has(1)) << "a miss, no error";
  EXPECT_TRUE(put(1).ok());
  EXPECT_TRUE(has(1));
  struct stat folder {};
  ASSERT_EQ(::stat((options_.root + "/v1").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 07777, 0700u) << "as the one before";
  EXPECT_TRUE(fs::exists(options_.root + "/v1.damaged/CURRENT")) << "the operator can have it back";
  close();
  ASSERT_EQ(::seteuid(0), 0);
}

TEST_F(StoreDamageTest, ADatabaseThatCannotBeReadIsSetAside) {
  close();
  keep();
  const auto manifests = files("MANIFEST");
  ASSERT_FALSE(manifests.empty());
  open_damaged(manifests.back(), [](const auto& path) { flip(path, 0.5); });
  EXPECT_EQ(store_->stats().set_aside, 1u);
  EXPECT_FALSE(store_->stats().degraded) << store_->stats().reason;
  EXPECT_TRUE(fs::exists(options_.root + "/v1.damaged/CURRENT"));
  EXPECT_EQ(misses_and_mends(), kRecords);
}

}  // namespace
}  // namespace cubind
