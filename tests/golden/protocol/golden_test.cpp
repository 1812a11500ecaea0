// The transcripts of each version, of the messages that it brought: what was written for the messages of
// tests/support/sample_messages.cpp, whole frames in hex. They stay for ever: both decoders read them as these values,
// and both encoders write them. A version that writes an older message differently records its own beside them, with
// its encoders' half of this test; reading the old one stays. UPDATE_GOLDEN=1 records transcripts that are missing and
// never touches one that is there.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "client/wire.hpp"
#include "protocol/codec.hpp"
#include "protocol/frame.hpp"
#include "tests/support/sample_messages.hpp"

namespace cubind {
namespace {

using test::SampleMessage;

const std::filesystem::path kFolder = std::filesystem::path(CUBIND_SOURCE_DIR) / "tests/golden/protocol";

std::filesystem::path file_of(const SampleMessage& sample) {
  return kFolder / ("v" + std::to_string(sample.since)) / (sample.name + ".hex");
}

std::string to_hex(ByteView bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(bytes[i]));
    out += digits;
    out += i % 16 == 15 || i + 1 == bytes.size() ? '\n' : ' ';
  }
  return out;
}

Bytes from_hex(std::istream& in) {
  Bytes out;
  for (std::string digits; in >> digits;) out.push_back(static_cast<std::byte>(std::stoul(digits, nullptr, 16)));
  return out;
}

class ProtocolGolden : public testing::TestWithParam<SampleMessage> {};

Result<ClientHello> decode(const ClientHello&, ByteView payload, bool with_wire) {
  return with_wire ? wire::decode_client_hello(payload) : codec::decode_client_hello(payload);
}
Result<ServerHello> decode(const ServerHello&, ByteView payload, bool with_wire) {
  return with_wire ? wire::decode_server_hello(payload) : codec::decode_server_hello(payload);
}
Result<Request> decode(const Request&, ByteView payload, bool with_wire) {
  return with_wire ? wire::decode_request(payload) : codec::decode_request(payload);
}
Result<Reply> decode(const Reply&, ByteView payload, bool with_wire) {
  return with_wire ? wire::decode_reply(payload) : codec::decode_reply(payload);
}

TEST_P(ProtocolGolden, IsWrittenAndReadByCodecAndWire) {
  const auto file = file_of(GetParam());
  std::visit(
      [&](const auto& message) {
        if (!std::filesystem::exists(file) && std::getenv("UPDATE_GOLDEN") != nullptr) {
          std::filesystem::create_directories(file.parent_path());
          std::ofstream(file) << to_hex(codec::encode(message));
        }
        std::ifstream in(file);
        ASSERT_TRUE(in) << file << " is missing; UPDATE_GOLDEN=1 records it";
        const Bytes golden = from_hex(in);
        EXPECT_EQ(to_hex(codec::encode(message)), to_hex(golden));
        EXPECT_EQ(to_hex(wire::encode(message)), to_hex(golden));
        FrameReader reader(golden.size());
        reader.append(golden);
        const auto payload = reader.next();
        ASSERT_TRUE(payload.ok() && payload->has_value());
        for (const bool with_wire : {false, true}) {
          const auto decoded = decode(message, **payload, with_wire);
          ASSERT_TRUE(decoded.ok()) << decoded.error().message;
          EXPECT_EQ(*decoded, message);
        }
      },
      GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Versions, ProtocolGolden, testing::ValuesIn(test::sample_messages()),
                         [](const auto& sample) { return sample.param.name; });

TEST(ProtocolGoldenFolder, HoldsATranscriptOfEveryKindAndNothingElse) {
  std::size_t requests = 0, replies = 0;
  std::vector<bool> request_kinds(std::variant_size_v<Request>), reply_kinds(std::variant_size_v<Reply>);
  for (const auto& sample : test::sample_messages()) {
    if (const auto* request = std::get_if<Request>(&sample.message)) request_kinds[request->index()] = true;
    if (const auto* reply = std::get_if<Reply>(&sample.message)) reply_kinds[reply->index()] = true;
  }
  for (const bool there : request_kinds) requests += there;
  for (const bool there : reply_kinds) replies += there;
  EXPECT_EQ(requests, request_kinds.size());
  EXPECT_EQ(replies, reply_kinds.size());
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder))
    files += entry.path().extension() == ".hex";
  EXPECT_EQ(files, test::sample_messages().size());
}

}  // namespace
}  // namespace cubind
