// The sockets that a daemon serves on, handed over by systemd or made as the config says, and the descriptors for those
// who connect.
#pragma once

#include <cstddef>

#include "daemon/config.hpp"
#include "daemon/listening_socket.hpp"
#include "daemon/metrics_http.hpp"

namespace cubind {

struct DaemonSockets {
  ListeningSocket clients;
  MetricsHttpOptions metrics;
};

Result<DaemonSockets> take_sockets(const Config& config);

// Each connection is a descriptor, and shells start us with 1024 of them: the soft limit is raised as far as need be.
// A limit that is too low for all is logged.
void make_room_for_descriptors(std::size_t connections);

}  // namespace cubind
