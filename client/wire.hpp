// The same messages and the same bytes as protocol/codec, written without Cap'n Proto: the client library lives in
// other people's processes and may bring nothing along. A bounded reader (every pointer is checked against the segment,
// depth and total size are limited) and a writer of one segment. Cross-tested against protocol/codec both ways.
// Thread-safe (no state).
#pragma once

#include "protocol/messages.hpp"

namespace cubind::wire {

Bytes encode(const ClientHello& hello);
Bytes encode(const ServerHello& hello);
Bytes encode(const Request& request);
Bytes encode(const Reply& reply);

Result<ClientHello> decode_client_hello(ByteView payload);
Result<ServerHello> decode_server_hello(ByteView payload);
Result<Request> decode_request(ByteView payload);
Result<Reply> decode_reply(ByteView payload);

}  // namespace cubind::wire
