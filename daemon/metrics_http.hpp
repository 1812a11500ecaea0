// Serves the metrics page over HTTP on a Unix socket, and on TCP where an operator asked for it. It must never be in
// the way of serving kernels: a socket that cannot be had is one log line, a peer that is slow or says nothing is
// closed after some seconds, and no more than a few are heard at a time. Belongs to the loop's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "daemon/listening_socket.hpp"
#include "daemon/metrics_page.hpp"
#include "daemon/tcp_address.hpp"

namespace boost::asio {
class io_context;
}

namespace cubind {

class MetricsHttp {
 public:
  virtual ~MetricsHttp() = default;  // closes the sockets and every connection
};

struct MetricsHttpOptions {
  std::optional<ListeningSocket::Wanted> socket;
  std::optional<TcpAddress> listen;
  std::vector<UniqueFd> passed;  // that listen already
};

// Begins to listen at once.
std::unique_ptr<MetricsHttp> start_metrics_http(boost::asio::io_context& loop, MetricsHttpOptions options,
                                                MetricsPage page);

}  // namespace cubind
