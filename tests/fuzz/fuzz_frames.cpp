// The daemon's side of a stream: pieces of any size, then frames, then greeting and requests. The first byte chooses
// the pieces.
#include <algorithm>
#include <vector>

#include "protocol/codec.hpp"
#include "protocol/frame.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

constexpr std::size_t kMaxFrame = 64 << 10;

// The payloads of a stream that comes in pieces of `step` bytes, trimmed in between if asked for; empty at the end
// stands for a stream that was lost.
std::vector<cubind::Bytes> read(cubind::ByteView stream, std::size_t step, bool trims) {
  cubind::FrameReader reader(kMaxFrame);
  std::vector<cubind::Bytes> payloads;
  while (!stream.empty()) {
    const auto piece = stream.first(std::min(step, stream.size()));
    stream = stream.subspan(piece.size());
    reader.append(piece);
    for (;;) {
      const auto frame = reader.next();
      if (!frame.ok()) {
        payloads.emplace_back();
        return payloads;
      }
      if (!frame->has_value()) break;
      payloads.emplace_back((**frame).begin(), (**frame).end());
    }
    if (trims) reader.trim();
  }
  return payloads;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto stream = cubind::fuzz::view(data + 1, size - 1);
  const auto whole = read(stream, std::max<std::size_t>(stream.size(), 1), false);
  cubind::fuzz::require(whole == read(stream, 1 + data[0] % 64, true));
  for (const auto& payload : whole) {
    static_cast<void>(cubind::codec::decode_client_hello(payload));
    static_cast<void>(cubind::codec::decode_request_id(payload));
    static_cast<void>(cubind::codec::decode_request(payload));
  }
  return 0;
}
