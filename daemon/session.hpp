// Moves the bytes of one connection: reads when the logic wants input, writes what it has to say in as few calls as can
// be, keeps its timer, and drops a reader that takes nothing for limits::kWriteTimeout. Keeps itself alive until it is
// closed. Belongs to the loop's thread.
#pragma once

#include <functional>
#include <memory>

#include "base/unique_fd.hpp"
#include "daemon/session_logic.hpp"

namespace boost::asio {
class io_context;
}

namespace cubind {

class Session {
 public:
  virtual ~Session() = default;
  virtual void end() = 0;    // takes no more requests; closes once what is in flight is answered and written
  virtual void close() = 0;  // at once; what is in flight is withdrawn before this returns
};

// `fd` is connected and non-blocking. `closed` is called once, later, when the connection is gone.
std::shared_ptr<Session> open_session(boost::asio::io_context& loop, UniqueFd fd, Peer peer, SessionLogic::Parts& parts,
                                      std::function<void(Session*)> closed);

}  // namespace cubind
