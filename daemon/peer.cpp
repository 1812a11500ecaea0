#include "daemon/peer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <sys/socket.h>

namespace cubind {

Result<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return Error{ErrorCode::internal, std::string("SO_PEERCRED: ") + std::strerror(errno)};
  }
  Peer peer{credentials.uid, credentials.gid, credentials.pid, {}};

  // The kernel tells how much room the groups need; a peer without any is not an error.
  std::vector<gid_t> groups(64);
  size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0 && errno == ERANGE) {
    groups.resize(size / sizeof(gid_t));
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) size = 0;
  }
  groups.resize(std::min<std::size_t>(groups.size(), size / sizeof(gid_t)));
  peer.groups.assign(groups.begin(), groups.end());
  return peer;
}

bool PeerList::has(const Peer& peer) const {
  const auto listed = [this](std::uint32_t gid) { return std::find(gids.begin(), gids.end(), gid) != gids.end(); };
  return std::find(uids.begin(), uids.end(), peer.uid) != uids.end() || listed(peer.gid) ||
         std::any_of(peer.groups.begin(), peer.groups.end(), listed);
}

}  // namespace cubind
