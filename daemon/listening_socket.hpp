// The socket that clients connect to: systemd's, or one of our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cubind {

class ListeningSocket {
 public:
  struct Wanted {
    std::string path;
    std::uint32_t mode = 0660;
    std::optional<std::uint32_t> gid;
  };

  // Makes, binds and listens. A socket file that nobody listens at is left from a daemon that died, and is replaced.
  // unavailable if another daemon listens there; invalid_argument if something that is no socket is in the way;
  // permission_denied or internal if the system refuses, naming path and reason.
  static Result<ListeningSocket> make(const Wanted& wanted);

  // systemd made it, owns the file and sets its rights.
  static ListeningSocket adopt(UniqueFd fd) { return ListeningSocket(std::move(fd), ""); }

  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  ~ListeningSocket();  // removes the file if it is ours and still the one we made

  int fd() const { return fd_.get(); }

 private:
  ListeningSocket(UniqueFd fd, std::string path);

  UniqueFd fd_;
  std::string path_;  // empty: not ours
  std::uint64_t device_ = 0, inode_ = 0;
};

}  // namespace cubind
