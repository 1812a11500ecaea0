#include "daemon/worker_protocol.hpp"

#include <bit>

#include "codegen/nvrtc/options.hpp"

namespace cubind::worker {

namespace {
class Writer {
 public:
  template <class T>
  void number(T value) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    store_le(bytes_.data() + at, value);
  }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) { blob(as_bytes(value)); }
  void blob(ByteView value) {
    number<std::uint32_t>(static_cast<std::uint32_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// After the first read that does not fit, everything reads as zero and ok() is false.
class Reader {
 public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    if (rest_.size() < sizeof(T)) return fail<T>();
    const T value = load_le<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  ByteView blob() {
    const auto size = number<std::uint32_t>();
    if (size > kMaxText || size > rest_.size()) return fail<ByteView>();
    const auto value = rest_.first(size);
    rest_ = rest_.subspan(size);
    return value;
  }
  std::string text() { return std::string(as_text(blob())); }
  // Elements to come; each takes at least its length field, so a wrong count cannot make us allocate.
  std::uint32_t count() {
    const auto value = number<std::uint32_t>();
    return value <= rest_.size() / 4 ? value : fail<std::uint32_t>();
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  template <class T>
  T fail() {
    ok_ = false;
    rest_ = {};
    return T{};
  }
  ByteView rest_;
  bool ok_ = true;
};

const Error kBad{ErrorCode::corruption, "worker: a message does not parse"};
}  // namespace

Bytes encode_message(const Message& message) {
  constexpr std::size_t kRoomForNumbers = 64;
  Writer out;
  out.number(static_cast<std::uint32_t>(message.kind));
  out.number(message.job);
  out.number(message.memory_bytes);
  out.number(message.cpu_seconds);
  out.number(static_cast<std::uint16_t>(message.code));
  out.text(std::string_view(message.text).substr(0, kMaxMessage - kRoomForNumbers));
  return out.take();
}

Result<Message> decode_message(ByteView packet) {
  Reader in(packet);
  Message message;
  const auto kind = in.number<std::uint32_t>();
  message.kind = static_cast<Kind>(kind);
  message.job = in.number<std::uint64_t>();
  message.memory_bytes = in.number<std::uint64_t>();
  message.cpu_seconds = in.number<std::uint32_t>();
  message.code = static_cast<ErrorCode>(in.number<std::uint16_t>());
  message.text = in.text();
  if (!in.at_end() || kind < 1 || kind > static_cast<std::uint32_t>(Kind::ended)) return kBad;
  return message;
}

Bytes encode_unit(const CompileUnit& unit) {
  Writer out;
  out.text(kProgramName);
  out.text(unit.source);
  out.number(static_cast<std::uint32_t>(unit.headers.size()));
  for (const auto& [name, text] : unit.headers) out.text(name), out.text(text);
  out.number(static_cast<std::uint32_t>(unit.options.size()));
  for (const auto& option : unit.options) out.text(option);
  return out.take();
}

Result<Unit> decode_unit(ByteView bytes) {
  Reader in(bytes);
  Unit unit;
  unit.program = in.text();
  unit.source = in.text();
  for (auto left = in.count(); left > 0 && in.ok(); --left) {
    auto name = in.text();
    unit.headers.emplace_back(std::move(name), in.text());
  }
  for (auto left = in.count(); left > 0 && in.ok(); --left) unit.options.push_back(in.text());
  if (!in.at_end()) return kBad;
  return unit;
}

Bytes encode_result(const CompileResult& result) {
  Writer out;
  if (result.ok()) {
    out.number(static_cast<std::uint16_t>(ErrorCode::ok));
    out.text({});
    out.text(result->log);
    out.blob(result->cubin);
    out.real(result->wall_ms);
    out.real(result->cpu_ms);
    out.number(result->peak_bytes);
  } else {
    out.number(static_cast<std::uint16_t>(result.error().code));
    out.text(result.error().message);
    out.text(result.failure_log);
  }
  const auto body = out.take();
  Writer whole;
  whole.number(static_cast<std::uint64_t>(body.size()));
  auto bytes = whole.take();
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

Result<std::optional<CompileResult>> decode_result(ByteView bytes) {
  constexpr std::size_t kLength = sizeof(std::uint64_t);
  if (bytes.size() < kLength) return std::optional<CompileResult>();
  const auto length = load_le<std::uint64_t>(bytes.data());
  if (length > 3 * kMaxText) return kBad;
  if (bytes.size() - kLength < length) return std::optional<CompileResult>();
  Reader in(bytes.subspan(kLength, length));
  const auto code = static_cast<ErrorCode>(in.number<std::uint16_t>());
  auto message = in.text();
  auto log = in.text();
  if (code != ErrorCode::ok) {
    if (!in.at_end()) return kBad;
    CompileResult failed(Error{code, std::move(message)});
    failed.failure_log = std::move(log);
    return std::optional<CompileResult>(std::move(failed));
  }
  CompileOutput output;
  output.log = std::move(log);
  const auto cubin = in.blob();
  output.cubin.assign(cubin.begin(), cubin.end());
  output.wall_ms = in.real();
  output.cpu_ms = in.real();
  output.peak_bytes = in.number<std::uint64_t>();
  if (!in.at_end()) return kBad;
  return std::optional<CompileResult>(CompileResult(std::move(output)));
}

}  // namespace cubind::worker
