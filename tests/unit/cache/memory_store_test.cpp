#include "cache/memory_store.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/test_artifacts.hpp"

namespace cubind {
namespace {

std::shared_ptr<const Artifact> shared(std::uint64_t number, std::size_t size = 100) {
  return std::make_shared<const Artifact>(test_artifact(number, size));
}

TEST(MemoryStore, MissIsNull) {
  MemoryStore store(1000);
  EXPECT_EQ(store.get(test_key(1)), nullptr);
}

TEST(MemoryStore, HitSharesTheBytesThatWerePut) {
  MemoryStore store(1000);
  const auto artifact = shared(1);
  store.put(artifact);
  EXPECT_EQ(store.get(test_key(1)).get(), artifact.get());
  EXPECT_EQ(store.bytes(), 100u);
}

TEST(MemoryStore, ALowerLimitEvictsAtOnceTheLeastRecentlyUsed) {
  MemoryStore store(300);
  for (std::uint64_t i = 1; i <= 3; ++i) store.put(shared(i));
  store.set_max_bytes(150);
  EXPECT_EQ(store.bytes(), 100u);
  EXPECT_NE(store.get(test_key(3)), nullptr);
  store.put(shared(4));
  EXPECT_EQ(store.size(), 1u);
  store.set_max_bytes(300);
  store.put(shared(5));
  EXPECT_EQ(store.size(), 2u);
}

TEST(MemoryStore, EvictsTheLeastRecentlyUsed) {
  MemoryStore store(300);
  for (std::uint64_t i = 1; i <= 3; ++i) store.put(shared(i));
  ASSERT_NE(store.get(test_key(1)), nullptr);  // now 2 is the oldest
  store.put(shared(4));
  EXPECT_EQ(store.get(test_key(2)), nullptr);
  EXPECT_NE(store.get(test_key(1)), nullptr);
  EXPECT_NE(store.get(test_key(3)), nullptr);
  EXPECT_NE(store.get(test_key(4)), nullptr);
  EXPECT_EQ(store.evictions(), 1u);
}

TEST(MemoryStore, NeverHoldsMoreThanItsBytes) {
  MemoryStore store(1000);
  for (std::uint64_t i = 0; i < 200; ++i) {
    store.put(shared(i, 1 + (i * 37) % 400));
    EXPECT_LE(store.bytes(), 1000u);
  }
  std::size_t sum = 0;
  for (const auto& artifact : store.snapshot()) sum += artifact->cubin->size();
  EXPECT_EQ(sum, store.bytes());
  EXPECT_EQ(store.snapshot().size(), store.size());
}

TEST(MemoryStore, OneLargerThanTheStoreIsNotKeptAndEvictsNothing) {
  MemoryStore store(300);
  store.put(shared(1));
  store.put(shared(2, 301));
  EXPECT_EQ(store.get(test_key(2)), nullptr);
  EXPECT_NE(store.get(test_key(1)), nullptr);
  EXPECT_EQ(store.evictions(), 0u);
}

TEST(MemoryStore, SecondPutOfAKeyReplacesTheFirst) {
  MemoryStore store(300);
  store.put(shared(1, 200));
  store.put(shared(1, 50));
  EXPECT_EQ(store.size(), 1u);
  EXPECT_EQ(store.bytes(), 50u);
  EXPECT_EQ(store.get(test_key(1))->cubin->size(), 50u);
}

TEST(MemoryStore, EraseAndClearSayWhatTheyFreed) {
  MemoryStore store(1000);
  store.put(shared(1, 10));
  store.put(shared(2, 20));
  store.put(shared(3, 30));
  EXPECT_EQ(store.erase(test_key(2)), 20u);
  EXPECT_EQ(store.erase(test_key(2)), 0u);
  EXPECT_EQ(store.clear(), 40u);
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(MemoryStore, ArtifactOutlivesItsEviction) {
  MemoryStore store(100);
  store.put(shared(1));
  const auto held = store.get(test_key(1));
  store.put(shared(2));
  ASSERT_EQ(store.get(test_key(1)), nullptr);
  EXPECT_EQ(*held->cubin, test_cubin(1, 100));
}

TEST(MemoryStore, ManyThreadsSeeOnlyWholeArtifacts) {
  constexpr std::uint64_t kKeys = 32;
  MemoryStore store(10 * 500);
  std::vector<std::shared_ptr<const Artifact>> artifacts;
  for (std::uint64_t i = 0; i < kKeys; ++i) artifacts.push_back(shared(i, 500));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 4000; ++i) {
        const auto number = random() % kKeys;
        switch (random() % 8) {
          case 0: store.put(artifacts[number]); break;
          case 1: store.erase(test_key(number)); break;
          default:
            if (const auto found = store.get(artifacts[number]->key); found && found != artifacts[number]) ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(store.bytes(), 5000u);
  EXPECT_EQ(store.bytes(), store.size() * 500);
}

}  // namespace
}  // namespace cubind
