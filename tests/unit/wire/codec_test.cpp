#include "protocol/codec.hpp"

#include <gtest/gtest.h>

#include "protocol/frame.hpp"
#include "protocol/limits.hpp"
#include "tests/support/random_messages.hpp"

namespace cubind {
namespace {

ByteView payload(const Bytes& frame) {
  return ByteView(frame).subspan(kFrameHeaderBytes);
}

template <class T>
void expect_refused(const Result<T>& result, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST(Codec, EveryMessageComesBackAsItWas) {
  test::RandomMessages random(1);
  for (int round = 0; round < 200; ++round) {
    const auto client = random.client_hello();
    ASSERT_EQ(*codec::decode_client_hello(payload(codec::encode(client))), client);
    const auto server = random.server_hello();
    ASSERT_EQ(*codec::decode_server_hello(payload(codec::encode(server))), server);
    for (std::size_t kind = 0; kind < test::kRequestKinds; ++kind) {
      const auto request = random.request(kind);
      ASSERT_EQ(*codec::decode_request(payload(codec::encode(request))), request) << kind;
    }
    for (std::size_t kind = 0; kind < test::kReplyKinds; ++kind) {
      const auto reply = random.reply(kind);
      ASSERT_EQ(*codec::decode_reply(payload(codec::encode(reply))), reply) << kind;
    }
  }
}

TEST(Codec, FrameIsItsLengthAndOneSegment) {
  const auto small = codec::encode(Request(StatsRequest{7}));
  const auto large = codec::encode(Reply(ExplainReply{7, {}, {}, std::string(100000, 's')}));
  for (const auto& frame : {small, large}) {
    EXPECT_EQ(load_le<std::uint32_t>(frame.data()), frame.size() - 4);
    EXPECT_EQ(load_le<std::uint32_t>(frame.data() + 4), 0u);
    EXPECT_EQ(load_le<std::uint32_t>(frame.data() + 8), (frame.size() - 12) / 8);
  }
}

TEST(Codec, RequestWithAnUnknownValueIsRefusedNamingTheField) {
  KernelsRequest request;
  request.mode = static_cast<RequestMode>(9);
  expect_refused(codec::decode_request(payload(codec::encode(Request(request)))), ErrorCode::invalid_argument,
                 "mode \"9\"");
  request = {};
  request.arch.suffix = 'x';
  expect_refused(codec::decode_request(payload(codec::encode(Request(request)))), ErrorCode::invalid_argument,
                 "arch suffix \"120\"");
  ExplainRequest explain;
  explain.kernel.descriptor.weight = static_cast<DType>(63);
  expect_refused(codec::decode_request(payload(codec::encode(Request(explain)))), ErrorCode::invalid_argument,
                 "weight \"63\"");
  explain.kernel.descriptor = {};
  explain.kernel.descriptor.zero_point = static_cast<ZeroPointKind>(3);
  expect_refused(codec::decode_request(payload(codec::encode(Request(explain)))), ErrorCode::invalid_argument,
                 "zero_point \"3\"");
}

TEST(Codec, RequestAboveALimitIsRefusedNamingTheField) {
  KernelsRequest request;
  request.layers.resize(limits::kMaxLayersPerRequest + 1);
  expect_refused(codec::decode_request(payload(codec::encode(Request(request)))), ErrorCode::invalid_argument,
                 "layers with \"4097\"");
  request = {};
  request.held.resize(limits::kMaxKernelsPerRequest + 1);
  expect_refused(codec::decode_request(payload(codec::encode(Request(request)))), ErrorCode::invalid_argument,
                 "held with");
  request = {};
  request.toolchain.id.assign(limits::kMaxText + 1, 'x');
  expect_refused(codec::decode_request(payload(codec::encode(Request(request)))), ErrorCode::invalid_argument,
                 "toolchain id");
  request.toolchain.id.pop_back();
  EXPECT_TRUE(codec::decode_request(payload(codec::encode(Request(request)))).ok());
}

TEST(Codec, RequestsAtTheirListLimitsFit) {
  KernelsRequest request;
  request.layers.resize(limits::kMaxLayersPerRequest);
  request.keys.resize(limits::kMaxKernelsPerRequest);
  request.held.resize(limits::kMaxKernelsPerRequest);
  const auto frame = codec::encode(Request(request));
  EXPECT_LE(frame.size(), limits::kMaxRequestBytes);
  EXPECT_EQ(*codec::decode_request(payload(frame)), Request(request));
}

TEST(Codec, MessageLongerThanItsLimitIsRefused) {
  const Bytes request(limits::kMaxRequestBytes + 8);
  expect_refused(codec::decode_request(request), ErrorCode::invalid_argument, "is longer than");
  const Bytes reply(limits::kMaxReplyBytes + 8);
  expect_refused(codec::decode_reply(reply), ErrorCode::invalid_argument, "is longer than");
}

TEST(Codec, BytesThatAreNoMessageAreCorruption) {
  expect_refused(codec::decode_request({}), ErrorCode::corruption, "");
  expect_refused(codec::decode_request(Bytes(12)), ErrorCode::corruption, "");
  Bytes wrong_count(24);
  store_le(wrong_count.data() + 4, std::uint32_t{3});
  expect_refused(codec::decode_request(wrong_count), ErrorCode::corruption, "one segment");
  auto frame = codec::encode(Request(ListRequest{1, 2, {}}));
  frame[4 + 8] = std::byte{0x04};  // the root pointer points one word further, past the end
  frame[4 + 9] = std::byte{0x01};
  expect_refused(codec::decode_request(payload(frame)), ErrorCode::corruption, "does not parse");
}

TEST(Codec, UnknownKindIsRefusedAndItsIdCanBeToldStill) {
  auto frame = codec::encode(Request(StatsRequest{77}));
  frame[4 + 8 + 8 + 8] = std::byte{200};  // the union's tag: after the table, the root pointer and the id
  expect_refused(codec::decode_request(payload(frame)), ErrorCode::invalid_argument, "request kind \"200\"");
  EXPECT_EQ(*codec::decode_request_id(payload(frame)), 77u);
  EXPECT_FALSE(codec::decode_request_id(Bytes(8)).ok());
}

TEST(Codec, UnknownValuesOfAReplyHaveAFallback) {
  KernelReply kernel;
  kernel.code = static_cast<ErrorCode>(99);
  kernel.outcome = static_cast<Outcome>(9);
  const auto got = std::get<KernelReply>(*codec::decode_reply(payload(codec::encode(Reply(kernel)))));
  EXPECT_EQ(got.code, ErrorCode::internal);
  EXPECT_EQ(got.outcome, Outcome::none);
  HealthReply health;
  health.state = static_cast<HealthState>(9);
  EXPECT_EQ(std::get<HealthReply>(*codec::decode_reply(payload(codec::encode(Reply(health))))).state,
            HealthState::degraded);
}

TEST(Codec, MisalignedPayloadIsReadToo) {
  const Request request = ListRequest{5, 6, {}};
  const auto frame = codec::encode(request);
  Bytes shifted(frame.size() + 8);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::memcpy(shifted.data() + shift, frame.data(), frame.size());
    EXPECT_EQ(*codec::decode_request(ByteView(shifted).subspan(shift + 4, frame.size() - 4)), request);
  }
}

}  // namespace
}  // namespace cubind
