// One message for both readers, Cap'n Proto's behind protocol/codec and the client's own: neither may break, what both
// read they read alike, and what was read can be written and read again.
#include "client/wire.hpp"
#include "protocol/codec.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using cubind::ByteView;
using cubind::fuzz::require;
constexpr std::size_t kHeader = 4;

template <class Message>
void check(const cubind::Result<Message>& codec, const cubind::Result<Message>& wire,
           cubind::Result<Message> (*read)(ByteView)) {
  if (!codec.ok()) return;
  const auto frame = cubind::codec::encode(*codec);
  if (wire.ok()) require(cubind::codec::encode(*wire) == frame);
  const auto again = read(ByteView(frame).subspan(kHeader));
  require(again.ok() && cubind::codec::encode(*again) == frame);
  require(cubind::wire::encode(*codec) == frame);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto payload = cubind::fuzz::view(data, size);
  namespace codec = cubind::codec;
  namespace wire = cubind::wire;
  check(codec::decode_request(payload), wire::decode_request(payload), &codec::decode_request);
  check(codec::decode_reply(payload), wire::decode_reply(payload), &codec::decode_reply);
  check(codec::decode_client_hello(payload), wire::decode_client_hello(payload), &codec::decode_client_hello);
  check(codec::decode_server_hello(payload), wire::decode_server_hello(payload), &codec::decode_server_hello);
  return 0;
}
