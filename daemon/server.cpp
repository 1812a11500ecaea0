#include "daemon/server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.hpp"
#include "daemon/session.hpp"

namespace cubind {

namespace {

namespace asio = boost::asio;
using ErrorCode_ = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};  // when there are no descriptors left

class SocketServer final : public Server {
 public:
  SocketServer(asio::io_context& loop, ListeningSocket socket, std::size_t max_connections, SessionLogic::Parts& parts)
      : loop_(loop),
        socket_(std::move(socket)),
        waiter_(std::in_place, loop, ::dup(socket_->fd())),
        pause_(loop),
        max_connections_(max_connections),
        parts_(parts) {
    wait();
  }

  ~SocketServer() override { close_sessions(); }

  void stop_accepting() override {
    ErrorCode_ ignored;
    if (waiter_) waiter_->close(ignored);
    waiter_.reset();
    pause_.cancel();
    socket_.reset();
  }

  void end_sessions(std::function<void()> all_gone) override {
    all_gone_ = std::move(all_gone);
    std::vector<std::shared_ptr<Session>> ending;
    for (const auto& [key, session] : sessions_) ending.push_back(session);
    for (const auto& session : ending) session->end();
    if (sessions_.empty() && all_gone_) std::exchange(all_gone_, nullptr)();
  }

  void set_max_connections(std::size_t most) override { max_connections_ = most; }

  void close_sessions() override {
    for (const auto& [key, session] : sessions_) session->close();
  }

 private:
  void wait() {
    waiter_->async_wait(asio::posix::stream_descriptor::wait_read, [this](ErrorCode_ error) {
      if (!error && waiter_) accept_all();
    });
  }

  void accept_all() {
    for (;;) {
      UniqueFd fd(::accept4(socket_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        take(std::move(fd));
        continue;
      }
      if (errno == EAGAIN) return wait();
      if (errno == ECONNABORTED || errno == EINTR) continue;
      log(LogLevel::error, "accept_failed", {{"error", std::strerror(errno)}, {"then", "trying again soon"}});
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](ErrorCode_ error) {
        if (!error && waiter_) accept_all();
      });
      return;
    }
  }

  void take(UniqueFd fd) {
    ++parts_.metrics.connections;
    auto peer = peer_of(fd.get());
    const auto refuse = [this](const std::string& why) {
      ++parts_.metrics.connections_refused;
      log(LogLevel::warn, "connection_refused", {{"error", why}});
    };
    if (!peer.ok()) return refuse(to_string(peer.error()));
    const auto uid = peer->uid;
    if (!has_place(uid)) {
      return refuse("more than " + std::to_string(max_connections_) + " connections, " + std::to_string(by_user_[uid]) +
                    " of them of uid \"" + std::to_string(uid) + "\"");
    }
    ++by_user_[uid];
    auto session = open_session(loop_, std::move(fd), *std::move(peer), parts_, [this, uid](Session* gone) {
      sessions_.erase(gone);
      if (--by_user_[uid] == 0) by_user_.erase(uid);
      parts_.metrics.connections_open = sessions_.size();
      if (sessions_.empty() && all_gone_) std::exchange(all_gone_, nullptr)();
    });
    auto* key = session.get();
    sessions_.emplace(key, std::move(session));
    parts_.metrics.connections_open = sessions_.size();
  }

  // The last eighth of the places is for users who have less than an eighth: one who takes all he can get does not lock
  // the others out.
  bool has_place(std::uint32_t uid) const {
    const auto kept = max_connections_ / 8;
    if (sessions_.size() + kept < max_connections_) return true;
    const auto mine = by_user_.find(uid);
    return sessions_.size() < max_connections_ &&
           (mine == by_user_.end() || mine->second < std::max<std::size_t>(kept, 1));
  }

  asio::io_context& loop_;
  std::optional<ListeningSocket> socket_;
  std::optional<asio::posix::stream_descriptor> waiter_;  // its own descriptor of the same socket
  asio::steady_timer pause_;
  std::size_t max_connections_;
  SessionLogic::Parts& parts_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;
  std::unordered_map<std::uint32_t, std::size_t> by_user_;  // connections of each uid; none is 0
  std::function<void()> all_gone_;
};

}  // namespace

std::unique_ptr<Server> start_server(asio::io_context& loop, ListeningSocket socket, std::size_t max_connections,
                                     SessionLogic::Parts& parts) {
  return std::make_unique<SocketServer>(loop, std::move(socket), max_connections, parts);
}

}  // namespace cubind
