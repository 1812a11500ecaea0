#include "cache/rocks_store.hpp"

#include <atomic>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "tests/store/store_fixture.hpp"

namespace cubind {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr milliseconds kDay{86'400'000};

class RocksStoreTest : public StoreTest {
 protected:
  RocksStoreTest() { open(); }
};

TEST_F(RocksStoreTest, AMissIsNoError) {
  const auto found = store_->get(test_key(1), {});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  EXPECT_EQ(store_->stats().records, 0u);
}

TEST_F(RocksStoreTest, WhatWasPutIsThereAfterReopening) {
  for (std::uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(put(i, 1 + i * 5'000).ok());
  open();
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(has(i, 1 + i * 5'000)) << i;
  EXPECT_EQ(store_->stats().records, 20u);
  EXPECT_EQ(store_->stats().bytes, 20u + 190u * 5'000);
  EXPECT_EQ(store_->folder(), options_.root + "/v1");
  EXPECT_FALSE(store_->stats().degraded) << store_->stats().reason;
}

TEST_F(RocksStoreTest, ASecondPutReplacesTheFirstAndFreesItsCubin) {
  ASSERT_TRUE(put(1, 30'000).ok());
  ASSERT_TRUE(put(1, 10'000).ok());
  EXPECT_TRUE(has(1, 10'000));
  EXPECT_EQ(store_->stats().records, 1u);
  EXPECT_EQ(store_->stats().bytes, 10'000u);
  ASSERT_TRUE(put(1, 10'000).ok());  // the same again
  EXPECT_TRUE(has(1, 10'000));
  EXPECT_EQ(store_->stats().bytes, 10'000u);
}

TEST_F(RocksStoreTest, ASharedCubinGoesWithTheLastRecordThatNamesIt) {
  const auto cubin = test_cubin(1, 20'000);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(store_->put(test_artifact(test_key(i), cubin), test_ingredients(i)).ok());
  }
  EXPECT_EQ(store_->stats().bytes, 20'000u);
  EXPECT_EQ(*store_->erase(test_key(1)), 0u);
  ASSERT_TRUE(put(2, 5'000).ok());  // now another cubin
  EXPECT_EQ(store_->stats().bytes, 25'000u);
  open();
  const auto last = store_->get(test_key(3), test_ingredients(3));
  ASSERT_TRUE(last.ok() && last->has_value());
  EXPECT_EQ(*(*last)->cubin, cubin);
  EXPECT_EQ(*store_->erase(test_key(3)), 20'000u);
  EXPECT_EQ(store_->stats().bytes, 5'000u);
  EXPECT_EQ(store_->stats().records, 1u);
}

TEST_F(RocksStoreTest, IngredientsThatDifferMakeItABadRecord) {
  ASSERT_TRUE(put(1).ok());
  EXPECT_TRUE(store_->get(test_key(1), {})->has_value()) << "none asked for: not compared";
  EXPECT_FALSE(store_->get(test_key(1), test_ingredients(2))->has_value());
  EXPECT_EQ(store_->stats().corrupt_records, 1u);
  EXPECT_FALSE(has(1)) << "it was removed";
  EXPECT_EQ(store_->stats().bytes, 0u);
  ASSERT_TRUE(put(1).ok());
  EXPECT_TRUE(has(1));
}

TEST_F(RocksStoreTest, RefusesWhatIsNoArtifact) {
  auto artifact = test_artifact(1);
  artifact.cubin_digest.bytes[0] ^= 1;
  EXPECT_EQ(store_->put(artifact, {}).error().code, ErrorCode::invalid_argument);
  artifact = test_artifact(1);
  artifact.cubin = nullptr;
  EXPECT_EQ(store_->put(artifact, {}).error().code, ErrorCode::invalid_argument);
  artifact = test_artifact(1);
  artifact.info.log.assign(limits::kMaxCompileLog + 1, 'x');
  EXPECT_EQ(store_->put(artifact, {}).error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(store_->stats().degraded);
}

TEST_F(RocksStoreTest, ListsByKeyPageAfterPage) {
  std::vector<KernelKey> keys;
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(put(i).ok());
    keys.push_back(test_key(i));
  }
  std::sort(keys.begin(), keys.end());
  const auto all = list_all();
  ASSERT_EQ(all.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(all[i].key, keys[i]);
  EXPECT_EQ(all[0].name, "w4a16-bf16-g64-m16n64k128s4w1x1x4");
  EXPECT_EQ(all[0].toolchain, "nvrtc-13.0.88-1a2b3c4d");
  EXPECT_EQ(all[0].cubin_bytes, 20'000u);
  EXPECT_EQ(all[0].created_ms, unix_ms(clock_.wall_now()));
}

TEST_F(RocksStoreTest, UseIsCountedAndSurvivesReopening) {
  ASSERT_TRUE(put(1).ok());
  const auto made = unix_ms(clock_.wall_now());
  clock_.advance(milliseconds(5'000));
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(has(1));
  EXPECT_EQ(list_all()[0].hits, 2u) << "also before it is written";
  ASSERT_TRUE(store_->flush_usage().ok());
  EXPECT_EQ(list_all()[0].hits, 2u);
  store_->touch(test_key(1));  // a hit in memory
  store_->touch(test_key(2));  // of a key that is not here
  open();                      // closing writes the rest
  const auto all = list_all();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].hits, 3u);
  EXPECT_EQ(all[0].created_ms, made);
  EXPECT_EQ(all[0].last_used_ms, made + 5'000);
}

TEST_F(RocksStoreTest, IngredientsExplainARecord) {
  ASSERT_TRUE(put(3).ok());
  EXPECT_EQ(store_->ingredients(test_key(3))->value(), test_ingredients(3));
  EXPECT_FALSE(store_->ingredients(test_key(4))->has_value());
}

TEST_F(RocksStoreTest, EraseAllLeavesNothing) {
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(put(i).ok());
  ASSERT_TRUE(store_->put_failure(test_key(90), {"bad", "log", unix_ms(clock_.wall_now()) + 1000}).ok());
  const auto count = store_->erase_all();
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->records, 10u);
  EXPECT_EQ(count->bytes, 200'000u);
  EXPECT_THAT(list_all(), IsEmpty());
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(store_->get_failure(test_key(90))->has_value());
  ASSERT_TRUE(put(1).ok());
  open();
  EXPECT_TRUE(has(1));
  EXPECT_EQ(store_->stats().records, 1u);
}

TEST_F(RocksStoreTest, FailuresExpireAndAPutRemovesThem) {
  const auto now = unix_ms(clock_.wall_now());
  const StoredFailure failure{"expected a ';'", "unit.cu(3): error", now + 1000};
  ASSERT_TRUE(store_->put_failure(test_key(1), failure).ok());
  ASSERT_TRUE(store_->put_failure(test_key(2), failure).ok());
  open();
  EXPECT_EQ(store_->get_failure(test_key(1))->value(), failure);
  ASSERT_TRUE(put(1).ok());
  EXPECT_FALSE(store_->get_failure(test_key(1))->has_value());
  clock_.advance(milliseconds(999));
  EXPECT_TRUE(store_->get_failure(test_key(2))->has_value());
  clock_.advance(milliseconds(1));
  EXPECT_FALSE(store_->get_failure(test_key(2))->has_value());
  ASSERT_TRUE(store_->tick().ok());
}

TEST_F(RocksStoreTest, ToolchainsAreKnownWhileARecordNamesThem) {
  const ToolchainIdentity used{"nvrtc-13.0.88-1a2b3c4d", 13, 0, 88, "aa", "bb"};
  const ToolchainIdentity unused{"nvrtc-12.9.86-00000000", 12, 9, 86, "cc", "dd"};
  ASSERT_TRUE(store_->remember_toolchain(used).ok());
  ASSERT_TRUE(store_->remember_toolchain(unused).ok());
  EXPECT_THAT(store_->known_toolchains(), IsEmpty());
  ASSERT_TRUE(put(1).ok());
  ASSERT_TRUE(put(2).ok());
  open();
  EXPECT_THAT(store_->known_toolchains(), ElementsAre(used));
  ASSERT_TRUE(store_->erase(test_key(1)).ok());
  EXPECT_THAT(store_->known_toolchains(), ElementsAre(used));
  ASSERT_TRUE(store_->erase(test_key(2)).ok());
  EXPECT_THAT(store_->known_toolchains(), IsEmpty());
}

TEST_F(RocksStoreTest, ASecondDaemonOnTheRootIsRefused) {
  const auto second = RocksStore::open(options_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(second.error().message, HasSubstr("\"" + options_.root + "\" is in use by another daemon"));
  EXPECT_TRUE(put(1).ok()) << "the first is none the worse";
}

TEST_F(RocksStoreTest, ForeignFilesAreLeftAlone) {
  close();
  for (const std::string name : {"README", "v1/notes.txt", "v1/000001.sst.bak", "other/file"}) {
    fs::create_directories(fs::path(options_.root + "/" + name).parent_path());
    std::ofstream(options_.root + "/" + name) << "not ours";
  }
  open();
  ASSERT_TRUE(put(1).ok());
  ASSERT_TRUE(store_->tick().ok());
  open();
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(fs::exists(options_.root + "/README"));
  EXPECT_TRUE(fs::exists(options_.root + "/v1/notes.txt"));
  EXPECT_TRUE(fs::exists(options_.root + "/other/file"));
}

TEST_F(RocksStoreTest, OtherSchemasCountInTheLimitAndGoWhenOld) {
  close();
  options_.max_bytes = 1'000'000;
  const auto other = options_.root + "/v2";
  fs::create_directories(other);
  std::ofstream(other + "/000007.sst") << std::string(400'000, 'x');
  fs::last_write_time(other + "/000007.sst", fs::file_time_type::clock::now());
  clock_.advance(std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now() - clock_.wall_now()));
  open();
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(put(i).ok());
  EXPECT_GT(store_->stats().evictions, 0u);
  EXPECT_LE(store_->stats().bytes, 600'000u);
  EXPECT_TRUE(fs::exists(other));

  clock_.advance(kDay * (options_.old_store_days + 1));
  ASSERT_TRUE(store_->tick().ok());
  EXPECT_FALSE(fs::exists(other));
  const auto evictions = store_->stats().evictions;
  for (std::uint64_t i = 100; i < 120; ++i) ASSERT_TRUE(put(i).ok());
  EXPECT_EQ(store_->stats().evictions, evictions) << "all of the limit is ours now";
}

TEST_F(RocksStoreTest, EvictionKeepsTheLimitAndWhatIsUsed) {
  close();
  options_.max_bytes = 1'000'000;
  open();
  for (std::uint64_t i = 0; i < 200; ++i) {
    clock_.advance(milliseconds(3'600'000));
    ASSERT_TRUE(put(i).ok());
    EXPECT_LE(store_->stats().bytes, options_.max_bytes);
    if (i >= 5) {
      for (std::uint64_t hot = 0; hot < 5; ++hot) EXPECT_TRUE(has(hot)) << hot << " after " << i;
    }
    if (i % 10 == 0) {
      ASSERT_TRUE(store_->flush_usage().ok());
    }
  }
  EXPECT_TRUE(has(199));
  EXPECT_FALSE(has(10));
  EXPECT_EQ(list_all().size(), store_->stats().records);
  EXPECT_EQ(store_->stats().records, 200 - store_->stats().evictions);
  EXPECT_GE(store_->stats().bytes, options_.max_bytes * 8 / 10) << "no more than down to the low watermark";

  ASSERT_TRUE(store_->tick().ok());
  open();  // closing flushes the log
  EXPECT_LE(disk_bytes(), options_.max_bytes + (1u << 20)) << "evicted cubins give their space back";
}

TEST_F(RocksStoreTest, ALowerLimitIsKeptFromTheNextTick) {
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(put(i).ok());
  close();
  options_.max_bytes = 500'000;
  open();
  ASSERT_TRUE(store_->tick().ok());
  EXPECT_LE(store_->stats().bytes, 450'000u);
  EXPECT_GE(store_->stats().bytes, 400'000u);
}

TEST_F(RocksStoreTest, EvictingSharersFreesWhatWasAskedFor) {
  close();
  options_.max_bytes = 400'000;
  open();
  for (std::uint64_t i = 0; i < 100; ++i) {  // four records a cubin
    clock_.advance(milliseconds(1000));
    const auto artifact = test_artifact(test_key(i), test_cubin(i / 4, 20'000));
    ASSERT_TRUE(store_->put(artifact, test_ingredients(i)).ok());
    EXPECT_LE(store_->stats().bytes, options_.max_bytes);
  }
  EXPECT_GT(store_->stats().bytes, 0u);
  for (const auto& record : list_all()) EXPECT_TRUE(store_->get(record.key, {})->has_value());
  EXPECT_EQ(store_->stats().corrupt_records, 0u);
}

// Row D6 of docs/faults.md.
TEST_F(RocksStoreTest, AGreedyUserNeverEvictsAnother) {
  close();
  options_.max_bytes = 1'000'000;
  open();
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(store_->put_as(test_artifact(i), test_ingredients(i), 1000).ok());
  for (std::uint64_t i = 100; i < 600; ++i) {  // ten times the limit
    clock_.advance(milliseconds(1000));
    ASSERT_TRUE(store_->put_as(test_artifact(i), test_ingredients(i), 1001).ok());
  }
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(has(i)) << i;
}

TEST_F(RocksStoreTest, OneLargerThanTheStoreIsRefusedAndEvictsNothing) {
  close();
  options_.max_bytes = 100'000;
  open();
  ASSERT_TRUE(put(1).ok());
  EXPECT_EQ(put(2, 100'001).error().code, ErrorCode::resource_exhausted);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(store_->stats().degraded) << "the disk is fine";
}

TEST_F(RocksStoreTest, RefusesAFolderThatOthersMayWrite) {
  close();
  fs::permissions(options_.root, fs::perms::others_write, fs::perm_options::add);
  const auto opened = RocksStore::open(options_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(opened.error().message, HasSubstr("0702"));
}

// Row B5 of docs/faults.md.
TEST_F(RocksStoreTest, ThirtyTwoWritersOfNeighbouringKeysAllArrive) {
  std::vector<std::thread> writers;
  std::atomic<int> failed{0};
  for (std::uint64_t i = 0; i < 32; ++i) {
    writers.emplace_back([&, i] {
      auto key = test_key(0);
      key.bytes.back() = static_cast<std::uint8_t>(i);
      failed += store_->put(test_artifact(key, test_cubin(i, 5000)), test_ingredients(i)).ok() ? 0 : 1;
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(list_all().size(), 32u);
  EXPECT_EQ(store_->stats().records, 32u);
  open();
  for (std::uint64_t i = 0; i < 32; ++i) {
    auto key = test_key(0);
    key.bytes.back() = static_cast<std::uint8_t>(i);
    const auto found = store_->get(key, test_ingredients(i));
    ASSERT_TRUE(found.ok() && found->has_value()) << i;
    EXPECT_TRUE(*(*found)->cubin == test_cubin(i, 5000)) << i;
  }
}

TEST_F(RocksStoreTest, ManyThreadsNeverSeeWrongOrHalfRecords) {
  close();
  options_.max_bytes = 300'000;  // so that eviction runs all the time
  open();
  std::atomic<int> wrong{0}, hits{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 250; ++i) {
        const std::uint64_t number = random() % 40;
        // Neighbours share a cubin.
        const auto artifact = test_artifact(test_key(number), test_cubin(number / 2, 10'000));
        switch (random() % 6) {
          case 0:
          case 1: wrong += store_->put(artifact, test_ingredients(number)).ok() ? 0 : 1; break;
          case 2: wrong += store_->erase(artifact.key).ok() ? 0 : 1; break;
          case 3: wrong += store_->flush_usage().ok() && store_->list({}, 10).ok() ? 0 : 1; break;
          default: {
            const auto found = store_->get(artifact.key, test_ingredients(number));
            if (!found.ok()) ++wrong;
            if (!found.ok() || !found->has_value()) break;
            ++hits;
            if (*(*found)->cubin != *artifact.cubin) ++wrong;
          }
        }
      }
    });
  }
  for (int i = 0; i < 5; ++i) static_cast<void>(store_->tick());
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
  const auto stats = store_->stats();
  EXPECT_EQ(stats.corrupt_records, 0u);
  EXPECT_LE(stats.bytes, options_.max_bytes);
  const auto all = list_all();
  EXPECT_EQ(all.size(), stats.records);
  for (const auto& record : all) EXPECT_TRUE(store_->get(record.key, {})->has_value());
}

}  // namespace
}  // namespace cubind
