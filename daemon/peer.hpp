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

// Admin requests (verify, purge) are for root, the daemon's own user and the configured ones.
class AdminRule {
 public:
  AdminRule(std::uint32_t own_uid, std::vector<std::uint32_t> admins) : own_uid_(own_uid), admins_(std::move(admins)) {}
  bool allows(const Peer& peer) const;

 private:
  std::uint32_t own_uid_;
  std::vector<std::uint32_t> admins_;
};

}  // namespace cubind
