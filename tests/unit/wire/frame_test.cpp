#include "protocol/frame.hpp"

#include <gtest/gtest.h>

namespace cubind {
namespace {

Bytes frame(const std::string& payload) {
  Bytes out(kFrameHeaderBytes + payload.size());
  store_le(out.data(), static_cast<std::uint32_t>(payload.size()));
  std::memcpy(out.data() + kFrameHeaderBytes, payload.data(), payload.size());
  return out;
}

Bytes concat(const std::vector<Bytes>& parts) {
  Bytes out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<std::string> drain(FrameReader& reader) {
  std::vector<std::string> payloads;
  for (;;) {
    auto next = reader.next();
    EXPECT_TRUE(next.ok()) << next.error().message;
    if (!next.ok() || !next->has_value()) return payloads;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*next)->data()) % 8, 0u);
    payloads.emplace_back(as_text(**next));
  }
}

TEST(Frame, StreamSplitAtEveryByteGivesTheSameFrames) {
  const std::vector<std::string> payloads = {"12345678", std::string(40, 'b'), std::string(16, 'c')};
  const Bytes stream = concat({frame(payloads[0]), frame(payloads[1]), frame(payloads[2])});
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      FrameReader reader(64);
      std::vector<std::string> got;
      for (const auto& part : {ByteView(stream).first(first), ByteView(stream).subspan(first, second - first),
                               ByteView(stream).subspan(second)}) {
        reader.append(part);
        for (auto& payload : drain(reader)) got.push_back(std::move(payload));
      }
      ASSERT_EQ(got, payloads) << "split at " << first << " and " << second;
      ASSERT_EQ(reader.buffered(), 0u);
    }
  }
}

TEST(Frame, ByteByByteGivesTheFramesAsSoonAsTheyAreWhole) {
  const Bytes stream = concat({frame("12345678"), frame("abcdefgh")});
  FrameReader reader(64);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    reader.append(ByteView(stream).subspan(i, 1));
    EXPECT_EQ(drain(reader).size(), i == 11 || i == 23 ? 1u : 0u) << i;
  }
}

void expect_lost(const Bytes& header, std::size_t limit, const std::string& length) {
  FrameReader reader(limit);
  reader.append(header);
  for (int i = 0; i < 2; ++i) {
    const auto next = reader.next();
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(next.error().message.find("\"" + length + "\""), std::string::npos) << next.error().message;
  }
}

TEST(Frame, RefusesZeroMisalignedAndTooLongLengthsFromTheHeaderAlone) {
  Bytes header(kFrameHeaderBytes);
  store_le(header.data(), std::uint32_t{0});
  expect_lost(header, 64, "0");
  store_le(header.data(), std::uint32_t{12});
  expect_lost(header, 64, "12");
  store_le(header.data(), std::uint32_t{72});
  expect_lost(header, 64, "72");
  store_le(header.data(), std::uint32_t{0xFFFFFFF8});
  expect_lost(header, 64, "4294967288");
}

TEST(Frame, AcceptsAFrameOfExactlyTheLimit) {
  FrameReader reader(64);
  reader.append(frame(std::string(64, 'x')));
  EXPECT_EQ(drain(reader), std::vector<std::string>{std::string(64, 'x')});
}

TEST(Frame, AnnouncedLengthAloneTakesNoMemory) {
  FrameReader reader(4 << 20);
  Bytes header(kFrameHeaderBytes);
  store_le(header.data(), std::uint32_t{4 << 20});
  reader.append(header);
  ASSERT_TRUE(reader.next().ok());
  EXPECT_LT(reader.space(1).size(), 4096u);
}

TEST(Frame, TrimmingKeepsTheBytesThatAreHereAndNoMore) {
  FrameReader reader(4 << 20);
  const auto whole = concat({frame("12345678"), frame("abcdefgh"), frame("ABCDEFGH")});
  for (std::size_t split = 0; split <= whole.size(); ++split) {
    const auto in = reader.space(16 << 10);
    std::memcpy(in.data(), whole.data(), split);
    reader.commit(split);
    std::size_t frames = 0;
    const auto read_all = [&] {
      for (auto next = reader.next(); next.ok() && next->has_value(); next = reader.next()) ++frames;
    };
    if (split % 2 == 0) read_all();  // with and without frames handed out before
    reader.trim();
    const auto held = reader.buffered();
    EXPECT_LE(reader.space(1).size(), 2 * held + 128) << split;
    reader.append(ByteView(whole).subspan(split));
    read_all();
    EXPECT_EQ(frames, 3u) << split;
    EXPECT_EQ(reader.buffered(), 0u);
  }
}

TEST(Frame, RawBytesAfterAFrameAreTakenAsTheyAreAndFramesGoOnBehindThem) {
  const std::string raw = "thirteen byte";
  const Bytes stream = concat({frame("12345678"), to_bytes(raw), frame("abcdefgh")});
  for (std::size_t split = 12; split <= stream.size(); ++split) {
    FrameReader reader(64);
    reader.append(ByteView(stream).first(split));
    ASSERT_TRUE(reader.next()->has_value());
    std::string got(raw.size(), '\0');
    const std::span out(reinterpret_cast<std::byte*>(got.data()), got.size());
    const auto first = reader.take(out);
    EXPECT_EQ(first, std::min(raw.size(), split - 12));
    reader.append(ByteView(stream).subspan(split));
    EXPECT_EQ(reader.take(out.subspan(first)), raw.size() - first);
    EXPECT_EQ(got, raw);
    EXPECT_EQ(drain(reader), std::vector<std::string>{"abcdefgh"});
  }
}

TEST(Frame, ReadingIntoSpaceIsHandedOutWhereItLies) {
  FrameReader reader(4096);
  const Bytes bytes = frame(std::string(1024, 'x'));
  const auto space = reader.space(bytes.size());
  std::memcpy(space.data(), bytes.data(), bytes.size());
  reader.commit(bytes.size());
  const auto next = reader.next();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->data(), space.data() + kFrameHeaderBytes);
}

}  // namespace
}  // namespace cubind
