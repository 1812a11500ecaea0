// The client's encoding against Cap'n Proto, both ways.
#include "client/wire.hpp"

#include <gtest/gtest.h>

#include "protocol/codec.hpp"
#include "protocol/frame.hpp"
#include "protocol/limits.hpp"
#include "tests/support/random_messages.hpp"

namespace cubind {
namespace {

ByteView payload(const Bytes& frame) {
  return ByteView(frame).subspan(kFrameHeaderBytes);
}

// Calls check(message, decode with wire, decode with codec) for one message of each kind.
template <class Check>
void for_each_kind(test::RandomMessages& random, Check check) {
  check(random.client_hello(), wire::decode_client_hello, codec::decode_client_hello);
  check(random.server_hello(), wire::decode_server_hello, codec::decode_server_hello);
  for (std::size_t kind = 0; kind < test::kRequestKinds; ++kind) {
    check(random.request(kind), wire::decode_request, codec::decode_request);
  }
  for (std::size_t kind = 0; kind < test::kReplyKinds; ++kind) {
    check(random.reply(kind), wire::decode_reply, codec::decode_reply);
  }
}

TEST(Wire, WritesTheSameBytesAsCapnProtoAndEachReadsTheOther) {
  test::RandomMessages random(2);
  for (int round = 0; round < 300; ++round) {
    for_each_kind(random, [](const auto& message, auto wire_decode, auto codec_decode) {
      const Bytes ours = wire::encode(message);
      const Bytes theirs = codec::encode(message);
      ASSERT_TRUE(ours == theirs) << "kind " << typeid(message).name();
      const auto by_wire = wire_decode(payload(theirs));
      ASSERT_TRUE(by_wire.ok()) << by_wire.error().message;
      ASSERT_EQ(*by_wire, message);
      const auto by_codec = codec_decode(payload(ours));
      ASSERT_TRUE(by_codec.ok()) << by_codec.error().message;
      ASSERT_EQ(*by_codec, message);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(Wire, LargestRequestIsTheSameInBoth) {
  KernelsRequest request;
  request.layers.resize(limits::kMaxLayersPerRequest);
  request.kernels.resize(1000);
  for (auto& spec : request.kernels) spec.config = "m16n64k128s4w1x1x4";
  request.keys.resize(limits::kMaxKernelsPerRequest);
  request.held.resize(limits::kMaxKernelsPerRequest);
  const auto frame = wire::encode(Request(request));
  EXPECT_EQ(frame, codec::encode(Request(request)));
  EXPECT_EQ(*wire::decode_request(payload(frame)), Request(request));
}

TEST(Wire, RefusesWhatTheCodecRefusesInTheSameWords) {
  std::vector<Request> refused;
  KernelsRequest kernels;
  kernels.mode = static_cast<RequestMode>(9);
  refused.emplace_back(kernels);
  kernels = {};
  kernels.arch.suffix = 'x';
  refused.emplace_back(kernels);
  kernels = {};
  kernels.layers.resize(limits::kMaxLayersPerRequest + 1);
  refused.emplace_back(kernels);
  kernels = {};
  kernels.kernels.resize(limits::kMaxKernelsPerRequest + 1);
  refused.emplace_back(kernels);
  kernels = {};
  kernels.keys.resize(limits::kMaxKernelsPerRequest + 1);
  refused.emplace_back(kernels);
  kernels = {};
  kernels.held.resize(limits::kMaxKernelsPerRequest + 1);
  refused.emplace_back(kernels);
  kernels = {};
  kernels.toolchain.excluded.resize(limits::kMaxExcludedToolchains + 1);
  refused.emplace_back(kernels);
  kernels = {};
  kernels.toolchain.id.assign(limits::kMaxText + 1, 'x');
  refused.emplace_back(kernels);
  ExplainRequest explain;
  explain.kernel.config.assign(limits::kMaxText + 1, 'x');
  refused.emplace_back(explain);
  explain = {};
  explain.kernel.descriptor.output = static_cast<DType>(63);
  refused.emplace_back(explain);
  explain = {};
  explain.kernel.descriptor.determinism = static_cast<Determinism>(3);
  refused.emplace_back(explain);
  for (const auto& request : refused) {
    const Bytes frame = codec::encode(request);
    const auto by_wire = wire::decode_request(payload(frame));
    const auto by_codec = codec::decode_request(payload(frame));
    ASSERT_FALSE(by_codec.ok());
    ASSERT_FALSE(by_wire.ok());
    EXPECT_EQ(by_wire.error(), by_codec.error());
    EXPECT_EQ(by_wire.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(wire::decode_reply(Bytes(limits::kMaxReplyBytes + 8)).error(),
            codec::decode_reply(Bytes(limits::kMaxReplyBytes + 8)).error());
}

TEST(Wire, UnknownValuesOfAReplyHaveTheSameFallback) {
  KernelReply kernel;
  kernel.code = static_cast<ErrorCode>(99);
  kernel.outcome = static_cast<Outcome>(9);
  HealthReply health;
  health.state = static_cast<HealthState>(9);
  for (const auto& reply : {Reply(kernel), Reply(health)}) {
    const Bytes frame = codec::encode(reply);
    EXPECT_EQ(*wire::decode_reply(payload(frame)), *codec::decode_reply(payload(frame)));
    EXPECT_NE(*wire::decode_reply(payload(frame)), reply);
  }
}

// A payload of these words, behind its segment table.
Bytes message_of(const std::vector<std::uint64_t>& words) {
  Bytes out(8 + 8 * words.size());
  store_le(out.data() + 4, static_cast<std::uint32_t>(words.size()));
  for (std::size_t i = 0; i < words.size(); ++i) store_le(out.data() + 8 + 8 * i, words[i]);
  return out;
}

constexpr std::uint64_t struct_pointer(std::uint64_t offset, std::uint64_t data, std::uint64_t pointers) {
  return offset << 2 | data << 32 | pointers << 48;
}

// A writer of another version has structs with fewer or more words and pointers than ours.
TEST(Wire, StructsOfOtherVersionsAreReadAsFarAsTheyGo) {
  constexpr std::uint64_t kId = 5, kProgress = 2;
  const auto shorter = message_of({struct_pointer(0, 2, 1), kId, kProgress, struct_pointer(0, 1, 0), 3ull << 32 | 7});
  const Reply known_then = ProgressReply{.id = 5, .total = 7, .ready = 3};
  EXPECT_EQ(*codec::decode_reply(shorter), known_then);
  EXPECT_EQ(*wire::decode_reply(shorter), known_then);

  const auto longer = message_of(
      {struct_pointer(0, 2, 1), kId, kProgress, struct_pointer(0, 4, 1), 3ull << 32 | 7, 9, 11, 99, /* pointer */ 0});
  const Reply known_now = ProgressReply{.id = 5, .total = 7, .ready = 3, .compiling = 9, .queued = 0, .elapsed_ms = 11};
  EXPECT_EQ(*codec::decode_reply(longer), known_now);
  EXPECT_EQ(*wire::decode_reply(longer), known_now);
}

// Mutations of valid messages: bits, bytes, words that look like pointers, cuts and repeats.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  Bytes mutate(Bytes bytes) {
    const auto changes = 1 + random_.number(4);
    for (std::uint64_t i = 0; i < changes && !bytes.empty(); ++i) change(bytes);
    return bytes;
  }

 private:
  void change(Bytes& bytes) {
    const auto at = random_.number(bytes.size());
    const auto word = at / 8 * 8;
    switch (random_.number(7)) {
      case 0: bytes[at] ^= static_cast<std::byte>(1 << random_.number(8)); break;
      case 1: bytes[at] = static_cast<std::byte>(random_.number(256)); break;
      case 2: bytes[at] = std::byte{0xFF}; break;
      case 3:  // a word that points near by, of any kind and size
        if (word + 8 <= bytes.size()) {
          const auto offset = static_cast<std::uint32_t>(random_.number(64)) - 32;
          store_le(bytes.data() + word, static_cast<std::uint32_t>(offset << 2 | random_.number(4)));
          store_le(bytes.data() + word + 4,
                   static_cast<std::uint32_t>(random_.number(2) == 0 ? random_.number(1 << 20)
                                                                     : random_.number(64) << 3 | 6));
        }
        break;
      case 4:  // one word over another
        if (word + 8 <= bytes.size()) {
          std::memmove(bytes.data() + word, bytes.data() + random_.number(bytes.size() / 8) * 8, 8);
        }
        break;
      case 5:  // cut, and say so in the segment table or not
        bytes.resize(word);
        if (bytes.size() >= 8 && random_.number(4) != 0) {
          store_le(bytes.data() + 4, static_cast<std::uint32_t>(bytes.size() / 8 - 1));
        }
        break;
      default:
        if (word + 8 <= bytes.size()) std::memset(bytes.data() + word, 0, 8);
        break;
    }
  }

  test::RandomMessages random_;
};

TEST(Wire, MutatedMessagesAreReadOrRefusedAndBothReadersAgreeOnWhatTheyRead) {
  test::RandomMessages random(3);
  Mutator mutator(4);
  std::size_t mutations = 0, read_by_both = 0, refused_by_wire = 0;
  while (mutations < 100000) {
    for_each_kind(random, [&](const auto& message, auto wire_decode, auto codec_decode) {
      const Bytes frame = codec::encode(message);
      const auto whole = payload(frame);
      for (int i = 0; i < 20; ++i, ++mutations) {
        const Bytes mutated = mutator.mutate({whole.begin(), whole.end()});
        const auto by_wire = wire_decode(mutated);
        const auto by_codec = codec_decode(mutated);
        refused_by_wire += !by_wire.ok();
        if (by_wire.ok() && by_codec.ok()) {
          ++read_by_both;
          ASSERT_EQ(wire::encode(*by_wire), codec::encode(*by_codec)) << mutations;  // bytes: a NaN is not itself
        }
      }
    });
  }
  EXPECT_GT(read_by_both, mutations / 10);
  EXPECT_GT(refused_by_wire, mutations / 10);
}

// Cheap to send, dear to expand.
TEST(Wire, ListOfManyStructsWithoutWordsIsRefused) {
  constexpr std::uint64_t kId = 5, kStats = 5, kCompositeOfNoWords = 1 | 7ull << 32, kMostElements = 0xFFFFFFFC;
  const auto message =
      message_of({struct_pointer(0, 2, 1), kId, kStats, struct_pointer(0, 0, 1), kCompositeOfNoWords, kMostElements});
  EXPECT_EQ(wire::decode_reply(message).error().message, "message does not parse: it names the same words many times");
  EXPECT_FALSE(codec::decode_reply(message).ok());
}

TEST(Wire, ManyPointersToOneLargeTextAreRefused) {
  HealthReply shared;
  shared.reasons.assign(4000, "");
  shared.reasons[0].assign(200000, 'x');
  Bytes frame = codec::encode(Reply(shared));
  const std::size_t list = 4 + 8 + 8 * (1 + 3 + 3 + 4);  // table, root, envelope, body: then the list of texts
  const auto first = load_le<std::uint64_t>(frame.data() + list);
  for (std::size_t i = 1; i < 4000; ++i) store_le(frame.data() + list + 8 * i, first - (i << 2));
  EXPECT_EQ(wire::decode_reply(payload(frame)).error().message,
            "message does not parse: it names the same words many times");
  EXPECT_FALSE(codec::decode_reply(payload(frame)).ok());
}

}  // namespace
}  // namespace cubind
