// The agreement on a protocol version, pure: who offers what and what follows. The client sends a ClientHello with the
// versions it speaks, the daemon answers with the highest that both speak, or with 0 and its own range, and closes.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "protocol/messages.hpp"

namespace cubind {

struct ProtocolRange {
  std::uint16_t min = kProtocolMin;
  std::uint16_t max = kProtocolMax;
};

// The highest version in both ranges, 0 if there is none (a range that is upside down or starts at 0 holds none).
std::uint16_t highest_common_version(ProtocolRange a, ProtocolRange b);

// The daemon's answer: `daemon` is its name and version. `version` is 0 if the ranges have nothing in common.
ServerHello answer_greeting(const ClientHello& hello, std::string daemon, ProtocolRange ours = {});

// The client's check of that answer. not_supported says which side is too old; corruption if the daemon chose a version
// that was not offered.
Status check_greeting(const ClientHello& sent, const ServerHello& answer);

// The lowest version in which this kind of request exists.
std::uint16_t first_version_of(const Request& request);

}  // namespace cubind
