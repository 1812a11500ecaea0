#include "client/wire.hpp"

#include <utility>

#include "client/wire_layout.hpp"
#include "client/wire_reader.hpp"
#include "client/wire_writer.hpp"

namespace cubind::wire {

namespace {

// The envelopes, Request and Reply: the id, the kind (the index in the variant is the union's tag), and a pointer to
// the body, which kinds without fields do not have.
constexpr std::size_t kIdByte = 0;
constexpr std::size_t kKindByte = 8;

template <class Body>
constexpr bool has_fields() {
  return kShape<Body>.data + kShape<Body>.pointers != 0;
}

template <class Message>
Bytes encode_plain(const Message& message) {
  MessageWriter writer;
  auto root = writer.root(kShape<Message>);
  fields(root, message);
  return std::move(writer).finish();
}

template <class Envelope>
Bytes encode_envelope(const Envelope& envelope) {
  MessageWriter writer;
  auto root = writer.root(kShape<Envelope>);
  root.number(kKindByte, static_cast<std::uint16_t>(envelope.index()));
  std::visit(
      [&]<class Body>(const Body& body) {
        root.number(kIdByte, body.id);
        if constexpr (has_fields<Body>()) root.part(0, body);
      },
      envelope);
  return std::move(writer).finish();
}

template <class Message>
Result<Message> decode_plain(ByteView payload, std::size_t most_bytes, MessageKind kind) {
  MessageReader reader(payload, most_bytes, kind);
  const auto root = reader.root();
  Message message;
  fields(root, message);
  if (reader.error()) return *reader.error();
  return message;
}

template <class Envelope, std::size_t Index>
void read_body(const StructReader& root, Envelope& envelope) {
  auto& body = envelope.template emplace<Index>();
  root.number(kIdByte, body.id);
  if constexpr (has_fields<std::variant_alternative_t<Index, Envelope>>()) root.part(0, body);
}

template <class Envelope, std::size_t... Index>
bool read_kind(std::size_t kind, const StructReader& root, Envelope& envelope, std::index_sequence<Index...>) {
  return ((kind == Index && (read_body<Envelope, Index>(root, envelope), true)) || ...);
}

template <class Envelope>
Result<Envelope> decode_envelope(ByteView payload, std::size_t most_bytes, MessageKind kind, const char* name) {
  MessageReader reader(payload, most_bytes, kind);
  const auto root = reader.root();
  std::uint16_t tag = 0;
  root.number(kKindByte, tag);
  Envelope envelope;
  if (!read_kind(tag, root, envelope, std::make_index_sequence<std::variant_size_v<Envelope>>())) {
    reader.refuse(std::string(name) + " kind \"" + std::to_string(tag) + "\" is not known here");
  }
  if (reader.error()) return *reader.error();
  return envelope;
}

}  // namespace

Bytes encode(const ClientHello& hello) {
  return encode_plain(hello);
}
Bytes encode(const ServerHello& hello) {
  return encode_plain(hello);
}
Bytes encode(const Request& request) {
  return encode_envelope(request);
}
Bytes encode(const Reply& reply) {
  return encode_envelope(reply);
}

Result<ClientHello> decode_client_hello(ByteView payload) {
  return decode_plain<ClientHello>(payload, limits::kMaxRequestBytes, MessageKind::request);
}
Result<ServerHello> decode_server_hello(ByteView payload) {
  return decode_plain<ServerHello>(payload, limits::kMaxReplyBytes, MessageKind::reply);
}
Result<Request> decode_request(ByteView payload) {
  return decode_envelope<Request>(payload, limits::kMaxRequestBytes, MessageKind::request, "request");
}
Result<Reply> decode_reply(ByteView payload) {
  return decode_envelope<Reply>(payload, limits::kMaxReplyBytes, MessageKind::reply, "reply");
}

}  // namespace cubind::wire
