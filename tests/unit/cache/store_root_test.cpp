#include "cache/store_root.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_folder.hpp"

namespace cubind {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void write(const std::string& path, std::size_t size) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << std::string(size, 'x');
}

TEST(StoreRoot, MakesTheFolderForItselfAlone) {
  const TempFolder temp;
  const auto root = temp / "a/b/store";
  ASSERT_TRUE(StoreRoot::claim(root, true).ok());
  struct stat info {};
  ASSERT_EQ(::stat(root.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST(StoreRoot, RefusesWhatIsNoAbsoluteFolder) {
  const TempFolder temp;
  for (const std::string& root : {std::string(), std::string("store"), std::string("./store")}) {
    const auto claimed = StoreRoot::claim(root, true);
    ASSERT_FALSE(claimed.ok());
    EXPECT_EQ(claimed.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(claimed.error().message, HasSubstr("\"" + root + "\""));
  }
  write(temp / "file", 1);
  EXPECT_EQ(StoreRoot::claim(temp / "file", true).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(StoreRoot::claim(temp / "file/below", true).error().code, ErrorCode::invalid_argument);
}

TEST(StoreRoot, RefusesAFolderThatOthersMayWriteNamingPathAndMode) {
  const TempFolder temp;
  const auto root = temp / "store";
  ASSERT_TRUE(fs::create_directory(root));
  ASSERT_EQ(::chmod(root.c_str(), 0707), 0);
  const auto claimed = StoreRoot::claim(root, true);
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(claimed.error().message, HasSubstr(root));
  EXPECT_THAT(claimed.error().message, HasSubstr("\"0707\""));
  ASSERT_EQ(::chmod(root.c_str(), 0770), 0);
  EXPECT_TRUE(StoreRoot::claim(root, true).ok());
}

TEST(StoreRoot, RefusesAFolderThatWeMayNotWrite) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TempFolder temp;
  const auto root = temp / "store";
  ASSERT_TRUE(fs::create_directory(root));
  ASSERT_EQ(::chmod(root.c_str(), 0500), 0);
  const auto claimed = StoreRoot::claim(root, true);
  ::chmod(root.c_str(), 0700);
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().code, ErrorCode::permission_denied);
}

TEST(StoreRoot, RefusesTmpfsUnlessTold) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
  const auto root = "/dev/shm/cubind-test-" + std::to_string(::getpid());
  const auto refused = StoreRoot::claim(root, false);
  EXPECT_FALSE(refused.ok());
  if (!refused) {
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(refused.error().message, HasSubstr("\"tmpfs\""));
  }
  EXPECT_TRUE(StoreRoot::claim(root, true).ok());
  fs::remove_all(root);
}

// Rows B12, C1, C3, C4 and C10 of docs/faults.md.
TEST(StoreRoot, NetworkFileSystemsAreKnownByTheirNumbers) {
  EXPECT_EQ(refused_filesystem(0x6969), "nfs");
  EXPECT_EQ(refused_filesystem(0xfe534d42), "smb");
  EXPECT_EQ(refused_filesystem(0x00c36400), "ceph");
  EXPECT_EQ(refused_filesystem(0x0bd00bd0), "lustre");
  EXPECT_EQ(refused_filesystem(0x01021997), "9p");
  for (const std::uint32_t local : {0xef53u, 0x58465342u, 0x9123683eu, 0x794c7630u, 0x2fc12fc1u}) {
    EXPECT_EQ(refused_filesystem(local), std::nullopt) << local;  // ext4, xfs, btrfs, overlay, zfs
  }
}

TEST(StoreRoot, ASecondClaimIsRefusedNamingTheRootAndTheHolder) {
  const TempFolder temp;
  {
    const auto first = StoreRoot::claim(temp.path(), true);
    ASSERT_TRUE(first.ok());
    const auto second = StoreRoot::claim(temp.path(), true);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_THAT(second.error().message, HasSubstr(temp.path()));
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
  }
  EXPECT_TRUE(StoreRoot::claim(temp.path(), true).ok());
}

TEST(StoreRoot, ALockThatIsALinkIsNotFollowed) {
  const TempFolder temp;
  write(temp / "precious", 10);
  fs::create_directory(temp / "store");
  fs::create_symlink(temp / "precious", temp / "store/lock");
  EXPECT_EQ(StoreRoot::claim(temp / "store", true).error().code, ErrorCode::permission_denied);
  EXPECT_EQ(fs::file_size(temp / "precious"), 10u);
}

TEST(StoreRoot, OtherSchemasFoldersAreFoundAndNothingElse) {
  const TempFolder temp;
  write(temp / "v1/000001.sst", 1);
  write(temp / "v2/000001.sst", 10'000);
  write(temp / "v2/deep/000002.sst", 10'000);
  write(temp / "v1.damaged/000001.sst", 1);
  write(temp / "v2.old/file", 1);
  write(temp / "videos/file", 1);
  write(temp / "v/file", 1);
  write(temp / "v3", 1);  // a file
  fs::create_directory_symlink(temp / "videos", temp / "v4");
  auto folders = find_other_folders(temp.path(), temp / "v1");
  std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  ASSERT_EQ(folders.size(), 2u);
  EXPECT_EQ(folders[0].path, temp / "v1.damaged");
  EXPECT_EQ(folders[1].path, temp / "v2");
  EXPECT_GE(folders[1].bytes, 20'000u);
  EXPECT_LT(std::chrono::system_clock::now() - folders[1].last_written, std::chrono::hours(1));
}

TEST(StoreRoot, SettingAsideKeepsTheLatestDamage) {
  const TempFolder temp;
  write(temp / "v1.damaged/first", 1);
  write(temp / "v1/second", 1);
  ASSERT_TRUE(set_folder_aside(temp / "v1").ok());
  EXPECT_FALSE(fs::exists(temp / "v1"));
  EXPECT_FALSE(fs::exists(temp / "v1.damaged/first"));
  EXPECT_TRUE(fs::exists(temp / "v1.damaged/second"));
}

}  // namespace
}  // namespace cubind
