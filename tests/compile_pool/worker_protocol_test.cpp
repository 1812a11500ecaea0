#include "daemon/worker_protocol.hpp"

#include <random>

#include <gtest/gtest.h>

namespace cubind::worker {
namespace {

TEST(WorkerMessages, ComeBackAsSent) {
  Message message{Kind::ended, 7};
  message.memory_bytes = 1ull << 40;
  message.cpu_seconds = 125;
  message.code = ErrorCode::resource_exhausted;
  message.text = "why";
  const auto decoded = decode_message(encode_message(message));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, message);
}

TEST(WorkerMessages, LongTextsAreCutToAPacket) {
  Message message{Kind::refused};
  message.text.assign(100000, 'x');
  const auto bytes = encode_message(message);
  EXPECT_LE(bytes.size(), kMaxMessage);
  EXPECT_TRUE(decode_message(bytes).ok());
}

TEST(WorkerMessages, NonsenseIsCorruption) {
  const auto whole = encode_message({Kind::ready});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_message(ByteView(whole).first(size)).ok()) << size;
  }
  auto unknown = whole;
  unknown[0] = std::byte{99};
  EXPECT_FALSE(decode_message(unknown).ok());
}

CompileUnit sample_unit() {
  CompileUnit unit;
  unit.source = "source";
  unit.headers = {{"a.cuh", "text a"}, {"b.cuh", ""}};
  unit.options = {"--one", "--two"};
  return unit;
}

TEST(WorkerUnit, HoldsWhatNvrtcNeeds) {
  const auto unit = decode_unit(encode_unit(sample_unit()));
  ASSERT_TRUE(unit.ok());
  EXPECT_EQ(unit->program, "kernel.cu");
  EXPECT_EQ(unit->source, "source");
  EXPECT_EQ(unit->headers, (std::vector<std::pair<std::string, std::string>>{{"a.cuh", "text a"}, {"b.cuh", ""}}));
  EXPECT_EQ(unit->options, (std::vector<std::string>{"--one", "--two"}));
}

TEST(WorkerUnit, CutOrChangedBytesNeverCrash) {
  const auto whole = encode_unit(sample_unit());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_unit(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))).ok()) << size;
  }
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    auto changed = whole;
    changed[random() % changed.size()] = static_cast<std::byte>(random());
    static_cast<void>(decode_unit(changed));
  }
}

TEST(WorkerResult, AnOutputComesBackWhole) {
  CompileOutput output;
  output.cubin = to_bytes("cubin");
  output.log = "log";
  output.wall_ms = 1.5;
  output.cpu_ms = 1.25;
  output.peak_bytes = 123;
  const auto bytes = encode_result(CompileResult(output));
  const auto decoded = decode_result(bytes);
  ASSERT_TRUE(decoded.ok());
  ASSERT_TRUE(decoded->has_value());
  const auto& result = **decoded;
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->cubin, output.cubin);
  EXPECT_EQ(result->log, "log");
  EXPECT_EQ(result->wall_ms, 1.5);
  EXPECT_EQ(result->cpu_ms, 1.25);
  EXPECT_EQ(result->peak_bytes, 123u);
}

TEST(WorkerResult, AFailureKeepsItsLog) {
  CompileResult failed(Error{ErrorCode::compile_failed, "line"});
  failed.failure_log = "the whole log";
  const auto decoded = decode_result(encode_result(failed));
  ASSERT_TRUE(decoded.ok() && decoded->has_value());
  EXPECT_EQ((*decoded)->error(), failed.error());
  EXPECT_EQ((*decoded)->failure_log, "the whole log");
}

TEST(WorkerResult, MissingBytesAreAwaited) {
  const auto whole = encode_result(CompileResult(CompileOutput{to_bytes("cubin"), "log"}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto decoded = decode_result(ByteView(whole).first(size));
    ASSERT_TRUE(decoded.ok()) << size;
    EXPECT_FALSE(decoded->has_value()) << size;
  }
}

TEST(WorkerResult, AnAbsurdLengthIsCorruption) {
  Bytes bytes(16, std::byte{0xff});
  EXPECT_FALSE(decode_result(bytes).ok());
}

}  // namespace
}  // namespace cubind::worker
