// What the daemon and cubind-worker say to each other. Private to the two, which are built and installed together.
//
//   control socket (SOCK_SEQPACKET, the worker's descriptor kControlFd), one message a packet, fields little-endian:
//     daemon -> worker   run{job, limits}     with two descriptors: the unit (a file to read), the result (a pipe)
//     worker -> daemon   ready{}              NVRTC is loaded and has compiled once
//                        refused{code, text}  it cannot; the worker exits
//                        started{job}         with one descriptor: the child's pidfd
//                        ended{job, code, text}  the child is gone; ok, or what its end means
//   unit file     encode_unit(): the bytes of a CompileUnit that NVRTC needs
//   result pipe   encode_result(): u64 length, then a CompileResult; then end of file
//
// The worker stops when the control socket closes, and its children die with it. Decoders check every length; a text is
// at most kMaxText.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "codegen/compiler.hpp"

namespace cubind::worker {

inline constexpr int kControlFd = 3;
inline constexpr std::size_t kMaxMessage = 4096;
inline constexpr std::size_t kMaxText = 64 << 20;  // one field of a unit or a result; a cubin is far smaller

enum class Kind : std::uint32_t { run = 1, ready = 2, refused = 3, started = 4, ended = 5 };

struct Message {
  Kind kind = Kind::ready;
  std::uint64_t job = 0;
  std::uint64_t memory_bytes = 0;  // run: RLIMIT_AS of the child; 0 = none
  std::uint32_t cpu_seconds = 0;   // run: RLIMIT_CPU of the child; 0 = none
  ErrorCode code = ErrorCode::ok;  // refused, ended
  std::string text;                // refused, ended; cut to fit a packet
  bool operator==(const Message&) const = default;
};

Bytes encode_message(const Message& message);
Result<Message> decode_message(ByteView packet);  // corruption

// What the worker compiles: a CompileUnit's own strings.
struct Unit {
  std::string program, source;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> options;
  bool operator==(const Unit&) const = default;
};
Bytes encode_unit(const CompileUnit& unit);
Result<Unit> decode_unit(ByteView bytes);

Bytes encode_result(const CompileResult& result);
// Nothing while bytes are missing; corruption if they cannot be a result.
Result<std::optional<CompileResult>> decode_result(ByteView bytes);

}  // namespace cubind::worker
