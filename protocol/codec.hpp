// Messages to and from frames with Cap'n Proto. The only place (codec.hpp, codec_encode.cpp, codec_decode.cpp) that
// includes capnp or catches kj::Exception. Each encode returns a whole frame (length and payload). Each decode takes a
// frame's payload; corruption if it does not parse, invalid_argument if it breaks a limit of protocol/limits.hpp, or if
// a request is of a kind unknown here or holds an unknown value (the message names the field). Thread-safe (no state).
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

// The id alone: whom to tell that decode_request refused the rest. Fails only if the payload is no message at all.
Result<std::uint64_t> decode_request_id(ByteView payload);

}  // namespace cubind::codec
