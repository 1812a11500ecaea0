// One request in flight on one connection, without I/O: it is told the time and that there is room for output, and
// hands replies to its sink. Destroying it withdraws it. Belongs to the loop's thread.
#pragma once

#include <optional>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "protocol/messages.hpp"

namespace cubind {

// Where replies go: the connection's output. Replies keep their order.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void reply(const Reply& reply) = 0;
  virtual void reply(KernelReply reply, SharedBytes code) = 0;  // code: null, or reply.code_bytes bytes

  // False while the reader is behind by limits::kMaxQueuedReplyBytes: whoever has much to say waits for advance().
  virtual bool has_room() const = 0;
};

class Call {
 public:
  virtual ~Call() = default;
  virtual void advance(SteadyTime now) = 0;  // there is room for output
  virtual void tick(SteadyTime now) = 0;     // next_wakeup() has come
  virtual std::optional<SteadyTime> next_wakeup() const = 0;
  virtual void cancel(SteadyTime now) = 0;  // ends the call, with the replies that a cancelled request gets
  virtual bool finished() const = 0;        // its last reply has been handed over
};

}  // namespace cubind
