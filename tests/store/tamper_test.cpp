// Entries that are wrong or gone although RocksDB's own checksums are right: written behind the store's back.
#include <functional>
#include <memory>
#include <vector>

#include <rocksdb/db.h>

#include "cache/record.hpp"
#include "tests/store/store_fixture.hpp"

namespace cubind {
namespace {

constexpr std::uint64_t kRecords = 10;

std::string raw(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}
Digest cubin_of(std::uint64_t number) {
  return test_artifact(number).cubin_digest;
}

class StoreTamperTest : public StoreTest {
 protected:
  // The database as anybody could open it.
  class Raw {
   public:
    explicit Raw(const std::string& folder) {
      std::vector<rocksdb::ColumnFamilyDescriptor> columns;
      for (const auto* name : kNames) columns.emplace_back(name, rocksdb::ColumnFamilyOptions());
      rocksdb::DB* db = nullptr;
      const auto status = rocksdb::DB::Open(rocksdb::DBOptions(), folder, columns, &handles_, &db);
      EXPECT_TRUE(status.ok()) << status.ToString();
      db_.reset(db);
    }
    ~Raw() {
      for (auto* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
    }
    bool has(const std::string& column, const std::string& key) {
      std::string value;
      return db_->Get(rocksdb::ReadOptions(), handle(column), key, &value).ok();
    }
    std::string get(const std::string& column, const std::string& key) {
      std::string value;
      EXPECT_TRUE(db_->Get(rocksdb::ReadOptions(), handle(column), key, &value).ok());
      return value;
    }
    void put(const std::string& column, const std::string& key, const std::string& value) {
      EXPECT_TRUE(db_->Put(rocksdb::WriteOptions(), handle(column), key, value).ok());
    }
    void remove(const std::string& column, const std::string& key) {
      EXPECT_TRUE(db_->Delete(rocksdb::WriteOptions(), handle(column), key).ok());
    }

   private:
    static constexpr const char* kNames[] = {"default", "kernels", "blobs", "usage", "failures", "tuning", "trace"};
    rocksdb::ColumnFamilyHandle* handle(const std::string& column) {
      for (std::size_t i = 0; i < handles_.size(); ++i) {
        if (column == kNames[i]) return handles_[i];
      }
      return nullptr;
    }
    std::unique_ptr<rocksdb::DB> db_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  };

  void SetUp() override {
    open();
    for (std::uint64_t i = 0; i < kRecords; ++i) ASSERT_TRUE(put(i).ok());
  }
  void tamper(const std::function<void(Raw&)>& change) {
    const auto folder = store_->folder();
    close();
    {
      Raw database(folder);
      change(database);
    }
    open();
  }
  // `number` misses, is counted once, everything else hits, and it can be put again.
  void expect_only_this_misses(std::uint64_t number) {
    EXPECT_FALSE(has(number));
    EXPECT_EQ(store_->stats().corrupt_records, 1u);
    EXPECT_FALSE(has(number)) << "and stays a miss";
    EXPECT_EQ(store_->stats().corrupt_records, 1u) << "it was removed the first time";
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      if (i != number) {
        EXPECT_TRUE(has(i)) << i;
      }
    }
    expect_mended_by_a_put(number);
  }
  void expect_mended_by_a_put(std::uint64_t number) {
    ASSERT_TRUE(put(number).ok());
    EXPECT_TRUE(has(number));
    ASSERT_TRUE(store_->tick().ok());
    EXPECT_EQ(store_->stats().records, kRecords);
    EXPECT_EQ(store_->stats().bytes, kRecords * 20'000);
    EXPECT_EQ(list_all().size(), kRecords);
    for (std::uint64_t i = 0; i < kRecords; ++i) EXPECT_TRUE(has(i)) << i;
  }
};

TEST_F(StoreTamperTest, ACubinWithOtherBytesIsAMiss) {
  tamper([](Raw& database) {
    auto cubin = database.get("blobs", raw(cubin_of(3)));
    cubin[100] = static_cast<char>(cubin[100] + 1);
    database.put("blobs", raw(cubin_of(3)), cubin);
  });
  expect_only_this_misses(3);
}

TEST_F(StoreTamperTest, ACubinThatIsShorterIsAMiss) {
  for (const std::size_t size : {std::size_t{19'999}, std::size_t{0}}) {
    tamper([&](Raw& database) {
      database.put("blobs", raw(cubin_of(3)), database.get("blobs", raw(cubin_of(3))).substr(0, size));
    });
    expect_only_this_misses(3);
  }
}

TEST_F(StoreTamperTest, AnotherKeysCubinUnderThisDigestIsAMiss) {
  tamper([](Raw& database) { database.put("blobs", raw(cubin_of(3)), database.get("blobs", raw(cubin_of(4)))); });
  expect_only_this_misses(3);
}

TEST_F(StoreTamperTest, AnotherKeysRecordIsAMiss) {
  tamper([](Raw& database) { database.put("kernels", raw(test_key(3)), database.get("kernels", raw(test_key(4)))); });
  expect_only_this_misses(3);
}

TEST_F(StoreTamperTest, AnotherKeysRecordIsAMissAlsoForWhoAsksByKeyAlone) {
  tamper([](Raw& database) { database.put("kernels", raw(test_key(3)), database.get("kernels", raw(test_key(4)))); });
  EXPECT_FALSE(store_->get(test_key(3), {})->has_value());
  EXPECT_EQ(store_->stats().corrupt_records, 1u);
}

TEST_F(StoreTamperTest, ARecordWithOtherIngredientsIsAMiss) {
  tamper([](Raw& database) {
    auto record = *decode_record(as_bytes(database.get("kernels", raw(test_key(3)))));
    record.ingredients[1].value = "m16n128k128s4w1x1x4";
    database.put("kernels", raw(test_key(3)), std::string(as_text(*encode_record(record))));
  });
  expect_only_this_misses(3);
}

TEST_F(StoreTamperTest, ARecordCutShortIsAMiss) {
  for (const bool to_nothing : {false, true}) {
    tamper([&](Raw& database) {
      auto record = database.get("kernels", raw(test_key(3)));
      record.resize(to_nothing ? 0 : record.size() - 1);
      database.put("kernels", raw(test_key(3)), record);
    });
    expect_only_this_misses(3);
  }
}

TEST_F(StoreTamperTest, AnEntryThatIsGoneCostsOnlyItsKey) {
  tamper([](Raw& database) { database.remove("blobs", raw(cubin_of(3))); });
  expect_only_this_misses(3);
}

TEST_F(StoreTamperTest, MissingUsageOrOwnersAreNoMiss) {
  tamper([](Raw& database) {
    database.remove("usage", raw(test_key(3)));
    database.remove("default", "owner/" + raw(cubin_of(4)) + raw(test_key(4)));
    database.remove("default", "totals");
  });
  for (std::uint64_t i = 0; i < kRecords; ++i) EXPECT_TRUE(has(i)) << i;
  ASSERT_TRUE(store_->tick().ok());  // counts again
  EXPECT_EQ(store_->stats().records, kRecords);
  EXPECT_EQ(store_->stats().bytes, kRecords * 20'000);
  EXPECT_EQ(*store_->erase(test_key(4)), 20'000u);
}

TEST_F(StoreTamperTest, ARecountDropsCubinsThatNobodyNames) {
  tamper([](Raw& database) {
    database.remove("kernels", raw(test_key(3)));  // its cubin and its owner entry stay behind
    database.remove("default", "totals");
  });
  ASSERT_TRUE(store_->tick().ok());
  EXPECT_EQ(store_->stats().records, kRecords - 1);
  tamper([](Raw& database) { EXPECT_FALSE(database.has("blobs", raw(cubin_of(3)))); });
  expect_mended_by_a_put(3);
}

}  // namespace
}  // namespace cubind
