// Stored kernels as a bundle, for a reader that is as slow as it likes.
#include <gtest/gtest.h>

#include "cache/bundle.hpp"
#include "protocol/limits.hpp"
#include "tests/unit/daemon/service_harness.hpp"

namespace cubind::test {
namespace {

struct BundleExportTest : testing::Test {
  BundleExportTest() {
    for (std::size_t i = 0; i < 40; ++i) store("cubin " + std::string(100'000, 'x') + std::to_string(i));
    store("cubin " + std::string(100'000, 'x') + "0");  // of two records
  }
  void store(const std::string& cubin) {
    FieldHasher hasher;
    hasher.field("number", service.store.artifacts.size());
    Artifact artifact;
    artifact.key = hasher.finish();
    artifact.info.arch = {90, '\0'};
    artifact.cubin_digest = sha256(as_bytes(cubin));
    artifact.cubin = std::make_shared<const Bytes>(to_bytes(cubin));
    EXPECT_TRUE(service.store.put(artifact, hasher.ingredients()).ok());
  }

  // Everything that comes, read in portions.
  Bytes exported(const std::vector<KernelKey>& keys, std::size_t portion) {
    client.send(ExportRequest{1, keys});
    Bytes all;
    for (bool last = false; !last;) {
      service.executor.run();
      const auto heard = client.heard(portion);
      most_queued = std::max(most_queued, client.logic->output().bytes());
      for (const auto& chunk : client.heard_of<ChunkReply>(heard)) {
        EXPECT_LE(chunk.data.size(), limits::kMaxChunkBytes);
        all.insert(all.end(), chunk.data.begin(), chunk.data.end());
        last = chunk.last;
      }
    }
    return all;
  }

  Service service;
  Conversation client{service};
  std::size_t most_queued = 0;
};

TEST_F(BundleExportTest, HasEveryRecordAndEachCubinOnce) {
  const auto bytes = exported({}, SIZE_MAX);
  const auto bundle = read_bundle(bytes);
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  ASSERT_EQ(bundle->items.size(), 41u);
  for (const auto& [record, cubin] : bundle->items) {
    const auto& stored = service.store.artifacts.at(record.key);
    EXPECT_EQ(record.info, stored.info);
    EXPECT_EQ(record.ingredients, service.store.ingredients_of.at(record.key));
    EXPECT_TRUE(std::equal(cubin.begin(), cubin.end(), stored.cubin->begin(), stored.cubin->end()));
  }
  EXPECT_LT(bytes.size(), 41u * 100'000);
}

TEST_F(BundleExportTest, ASlowReaderGetsTheSameAndNoMoreIsReadAheadThanItsQueueHolds) {
  const auto whole = exported({}, SIZE_MAX);
  most_queued = 0;
  EXPECT_EQ(exported({}, 50'000), whole);
  EXPECT_LE(most_queued, limits::kMaxQueuedReplyBytes + 2 * limits::kMaxChunkBytes);
}

TEST_F(BundleExportTest, AKeyThatIsInNoRecordIsNamed) {
  const auto absent = sha256(as_bytes("absent"));
  client.send(ExportRequest{1, {service.store.artifacts.begin()->first, absent}});
  service.executor.run();
  const auto errors = client.heard_of<ErrorReply>(client.heard());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, ErrorCode::not_found);
  EXPECT_NE(errors[0].message.find(absent.hex()), std::string::npos);
  EXPECT_EQ(read_bundle(exported({service.store.artifacts.begin()->first}, SIZE_MAX)).value().items.size(), 1u);
}

}  // namespace
}  // namespace cubind::test
