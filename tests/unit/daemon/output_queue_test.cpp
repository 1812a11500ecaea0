#include "daemon/output_queue.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace cubind {
namespace {

// Writes through gather and consume, at most `pieces` entries and `bytes` at a time.
std::string drained(OutputQueue& queue, std::size_t pieces, std::size_t bytes) {
  std::string all;
  while (!queue.empty()) {
    std::vector<iovec> entries(pieces);
    const auto used = queue.gather(entries);
    std::string some;
    for (std::size_t i = 0; i < used; ++i) {
      some.append(static_cast<const char*>(entries[i].iov_base), entries[i].iov_len);
    }
    some.resize(std::min(some.size(), bytes));
    if (some.empty()) break;
    queue.consume(some.size());
    all += some;
  }
  return all;
}

TEST(OutputQueue, WritesOfAnySizeKeepTheOrder) {
  for (const std::size_t pieces : {1u, 2u, 64u}) {
    for (const std::size_t bytes : {1u, 3u, 1000u}) {
      OutputQueue queue;
      queue.push(to_bytes("frame1"), std::make_shared<const Bytes>(to_bytes("cubin1")));
      queue.push(to_bytes("frame2"), nullptr);
      queue.push(to_bytes("frame3"), std::make_shared<const Bytes>(to_bytes("cubin3")));
      EXPECT_EQ(queue.bytes(), 30u);
      EXPECT_EQ(drained(queue, pieces, bytes), "frame1cubin1frame2frame3cubin3");
      EXPECT_EQ(queue.bytes(), 0u);
    }
  }
}

TEST(OutputQueue, PushingAndWritingInTurnsKeepsTheOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    OutputQueue queue;
    std::string pushed, written;
    for (int i = 0; i < 300; ++i) {
      for (auto count = random() % 4; count > 0; --count) {
        const auto frame = "frame" + std::to_string(i) + ";", code = std::string(random() % 50, 'c');
        queue.push(to_bytes(frame), code.empty() ? nullptr : std::make_shared<const Bytes>(to_bytes(code)));
        pushed += frame + code;
      }
      iovec entries[3];
      const auto used = queue.gather(entries);
      std::string some;
      for (std::size_t k = 0; k < used; ++k)
        some.append(static_cast<const char*>(entries[k].iov_base), entries[k].iov_len);
      some.resize(some.empty() ? 0 : random() % some.size() + (random() % 3 == 0));
      queue.consume(some.size());
      written += some;
      ASSERT_EQ(queue.bytes(), pushed.size() - written.size());
    }
    EXPECT_EQ(written + drained(queue, 64, 1000), pushed);
  }
}

TEST(OutputQueue, ACubinIsSentFromWhereItLies) {
  const auto code = std::make_shared<const Bytes>(to_bytes("cubin"));
  OutputQueue queue;
  queue.push(to_bytes("frame"), code);
  iovec entries[4];
  ASSERT_EQ(queue.gather(entries), 2u);
  EXPECT_EQ(entries[1].iov_base, code->data());
}

}  // namespace
}  // namespace cubind
