// A store in a folder of its own, with a clock that moves when told to.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cache/rocks_store.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/test_artifacts.hpp"

namespace cubind {

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    options_.root = temp_ / "store";
    options_.allow_any_filesystem = true;  // wherever the temporary folder is
    options_.clock = &clock_;
  }

  void open() {
    store_.reset();
    auto opened = RocksStore::open(options_);
    ASSERT_TRUE(opened.ok()) << to_string(opened.error());
    store_ = std::move(opened).value();
  }
  void close() { store_.reset(); }

  Status put(std::uint64_t number, std::size_t size = 20'000) {
    return store_->put(test_artifact(number, size), test_ingredients(number));
  }
  // Whether it is a hit; the bytes of a hit must be right.
  bool has(std::uint64_t number, std::size_t size = 20'000) {
    const auto found = store_->get(test_key(number), test_ingredients(number));
    EXPECT_TRUE(found.ok());
    if (!found.ok() || !found->has_value()) return false;
    const auto expected = test_artifact(number, size);
    EXPECT_EQ((*found)->info, expected.info);
    EXPECT_EQ((*found)->cubin_digest, expected.cubin_digest);
    EXPECT_TRUE(*(*found)->cubin == *expected.cubin) << "wrong bytes under " << number;
    return true;
  }
  std::vector<RecordSummary> list_all() {
    std::vector<RecordSummary> all;
    for (;;) {
      const auto page = store_->list(all.empty() ? KernelKey{} : all.back().key, 7);
      EXPECT_TRUE(page.ok());
      if (!page.ok() || page->empty()) return all;
      all.insert(all.end(), page->begin(), page->end());
    }
  }
  std::uint64_t disk_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.root)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }

  TempFolder temp_;
  ManualClock clock_;
  RocksStoreOptions options_;
  std::unique_ptr<RocksStore> store_;
};

}  // namespace cubind
