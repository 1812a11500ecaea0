// Messages to and from frames with Cap'n Proto. The only file pair that includes capnp or catches kj::Exception. Each
// encode returns a whole frame (length and payload). Each decode takes a frame's payload; corruption or
// invalid_argument if it does not parse, breaks a limit of protocol/limits.hpp, or is of a kind unknown here.
// Thread-safe (no state).
#pragma once

#include "protocol/messages.hpp"

namespace cubind::codec {

Bytes encode(const ClientHello& hello);
Bytes encode(const ServerHello& hello);
Bytes encode(const Request& request);
Bytes encode(const Reply& reply);

Result<ClientHello> decode_client_hello(ByteView payload);
Result<ServerHello> decode_server_hello(ByteView payload);
Result<Request> decode_request(ByteView payload);
Result<Reply> decode_reply(ByteView payload);

}  // namespace cubind::codec
