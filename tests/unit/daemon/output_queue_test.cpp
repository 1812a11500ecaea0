#include "daemon/output_queue.hpp"

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
