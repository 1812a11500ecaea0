// The messages of the transcripts in tests/golden/protocol/v1: one of each kind, every field set. Fixed for ever: a
// transcript is what version 1 of the protocol wrote for these values.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "protocol/messages.hpp"

namespace cubind::test {

struct SampleMessage {
  std::string name;  // of the transcript, e.g. "request_kernels"
  std::variant<ClientHello, ServerHello, Request, Reply> message;
};

std::vector<SampleMessage> sample_messages();

}  // namespace cubind::test
