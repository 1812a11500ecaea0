// Accepts connections and keeps the sessions. Belongs to the loop's thread.
#pragma once

#include <functional>
#include <memory>

#include "daemon/listening_socket.hpp"
#include "daemon/session_logic.hpp"

namespace boost::asio {
class io_context;
}

namespace cubind {

class Server {
 public:
  virtual ~Server() = default;
  virtual void stop_accepting() = 0;                              // the socket is closed; connections go on
  virtual void end_sessions(std::function<void()> all_gone) = 0;  // each as soon as it has written what it has to say
  virtual void set_max_connections(std::size_t most) = 0;         // those that are open stay
  virtual void close_sessions() = 0;                              // at once
};

// Begins to accept at once. `parts` outlives the server.
std::unique_ptr<Server> start_server(boost::asio::io_context& loop, ListeningSocket socket, std::size_t max_connections,
                                     SessionLogic::Parts& parts);

}  // namespace cubind
