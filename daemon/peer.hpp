// Who is at the other end of a connection, as the kernel says (SO_PEERCRED, SO_PEERGROUPS; as the daemon's user
// namespace sees them), and what they may do.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace cubind {

struct Peer {
  std::uint32_t uid = 0, gid = 0;
  std::int32_t pid = 0;  // 0 if it lives in a pid namespace that the daemon cannot see
  std::vector<std::uint32_t> groups;
};

// internal if `fd` is not a connected Unix socket.
Result<Peer> peer_of(int fd);

// Users and groups by number. A peer is in it by its uid, its gid or a supplementary group.
struct PeerList {
  std::vector<std::uint32_t> uids, gids;
  bool empty() const { return uids.empty() && gids.empty(); }
  bool has(const Peer& peer) const;
};

// Root and the daemon's own user may do everything. Admin requests (verify, purge, reload) are for those listed
// besides; anything else is for everybody who can connect, unless there is a list.
class AccessRules {
 public:
  AccessRules(std::uint32_t own_uid, PeerList admins, PeerList clients)
      : own_uid_(own_uid), admins_(std::move(admins)), clients_(std::move(clients)) {}
  bool may_administer(const Peer& peer) const { return is_ours(peer) || admins_.has(peer); }
  bool may_ask(const Peer& peer) const {
    return clients_.empty() || is_ours(peer) || clients_.has(peer) || admins_.has(peer);
  }

 private:
  bool is_ours(const Peer& peer) const { return peer.uid == 0 || peer.uid == own_uid_; }

  std::uint32_t own_uid_;
  PeerList admins_, clients_;
};

}  // namespace cubind
