// The messages of the transcripts in tests/golden/protocol: one of each kind, every field set. Fixed for ever: a
// transcript is what its version of the protocol wrote for these values.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "protocol/messages.hpp"

namespace cubind::test {

struct SampleMessage {
  std::string name;  // of the transcript, e.g. "request_kernels"
  std::variant<ClientHello, ServerHello, Request, Reply> message;
  int since = 1;  // the version that brought this kind
};

std::vector<SampleMessage> sample_messages();

}  // namespace cubind::test
