#include "daemon/session.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/socket.h>

#include "base/log.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

namespace asio = boost::asio;
using ErrorCode_ = boost::system::error_code;

// What the kernel takes at once, as far as net.core.wmem_max allows: a layer's whole table of cubins, so that one call
// sends it and the reader does not have to be waited for in the middle.
constexpr int kSendBufferBytes = 512 << 10;

class SocketSession final : public Session, public std::enable_shared_from_this<SocketSession> {
 public:
  SocketSession(asio::io_context& loop, UniqueFd fd, Peer peer, SessionLogic::Parts& parts,
                std::function<void(Session*)> closed)
      : loop_(loop),
        socket_(loop, fd.release()),
        timer_(loop),
        parts_(parts),
        peer_(peer),
        closed_(std::move(closed)),
        logic_(std::in_place, parts, std::move(peer), [this] { flush_later(); }) {}

  void start() {
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
    wait_to_read();
    set_timer();
  }

  void end() override {
    if (!logic_.has_value()) return;
    logic_->end();
    after_event();
  }

  void close() override { tear_down(); }

 private:
  // Readiness is waited for and the socket read at once into the logic's own buffer: no copy, and no read is under way
  // while the logic looks at what it has.
  void wait_to_read() {
    if (reading_ || !logic_->wants_input()) return;
    reading_ = true;
    socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](ErrorCode_ error) {
      self->reading_ = false;
      if (error || !self->logic_.has_value()) return;
      self->read();
    });
  }

  void read() {
    const auto space = logic_->input_space();
    const auto count = ::recv(socket_.native_handle(), space.data(), space.size(), MSG_DONTWAIT);
    if (count > 0) {
      logic_->received(static_cast<std::size_t>(count), parts_.clock.now());
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      return tear_down();  // the peer has gone, and with it whoever would read our answers
    }
    after_event();
  }

  void flush_later() {
    if (flush_posted_) return;
    flush_posted_ = true;
    asio::post(loop_, [self = shared_from_this()] {
      self->flush_posted_ = false;
      if (self->logic_.has_value()) self->after_event();
    });
  }

  // Whatever has happened: write what there is, read on if there is room, keep the timer, close if it is over.
  void after_event() {
    write();
    if (!logic_.has_value()) return;
    if (logic_->over()) return tear_down();
    wait_to_read();
    set_timer();
  }

  void write() {
    while (!logic_->output().empty() && !writing_) {
      std::array<iovec, 64> pieces;
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = logic_->output().gather(pieces);
      const auto count = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count >= 0) {
        write_deadline_.reset();
        logic_->written(static_cast<std::size_t>(count), parts_.clock.now());
      } else if (errno == EAGAIN) {
        if (!write_deadline_) write_deadline_ = parts_.clock.now() + limits::kWriteTimeout;
        writing_ = true;
        socket_.async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](ErrorCode_ error) {
          self->writing_ = false;
          if (!error && self->logic_.has_value()) self->after_event();
        });
      } else if (errno != EINTR) {
        return tear_down();
      }
    }
  }

  // One timer for the logic's next wake-up and the write's deadline. One that fires early is harmless, so it is only
  // ever moved forward: a hit touches it not at all.
  void set_timer() {
    auto next = logic_->next_wakeup();
    if (write_deadline_ && (!next || *write_deadline_ < *next)) next = write_deadline_;
    if (!next || (timer_at_ && *timer_at_ <= *next)) return;
    timer_at_ = next;
    timer_.expires_at(*next);
    timer_.async_wait([self = shared_from_this()](ErrorCode_ error) {
      if (error || !self->logic_.has_value()) return;
      self->timer_at_.reset();
      self->on_timer();
    });
  }

  void on_timer() {
    const auto now = parts_.clock.now();
    if (write_deadline_ && now >= *write_deadline_) {
      ++parts_.metrics.connections_dropped;
      log(LogLevel::warn, "dropped",
          {{"reason", "the reader took nothing for " + std::to_string(limits::kWriteTimeout.count()) + " s"},
           {"bytes", logic_->output().bytes()},
           {"uid", peer_.uid},
           {"pid", peer_.pid}});
      return tear_down();
    }
    logic_->tick(now);
    after_event();
  }

  void tear_down() {
    if (!logic_.has_value()) return;
    logic_.reset();  // withdraws what is in flight
    timer_.cancel();
    ErrorCode_ ignored;
    socket_.close(ignored);
    asio::post(loop_, [self = shared_from_this()] { self->closed_(self.get()); });
  }

  asio::io_context& loop_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  SessionLogic::Parts& parts_;
  Peer peer_;
  std::function<void(Session*)> closed_;
  std::optional<SessionLogic> logic_;  // none once the connection is gone
  std::optional<SteadyTime> timer_at_, write_deadline_;
  bool reading_ = false, writing_ = false, flush_posted_ = false;
};

}  // namespace

std::shared_ptr<Session> open_session(asio::io_context& loop, UniqueFd fd, Peer peer, SessionLogic::Parts& parts,
                                      std::function<void(Session*)> closed) {
  auto session = std::make_shared<SocketSession>(loop, std::move(fd), std::move(peer), parts, std::move(closed));
  session->start();
  return session;
}

}  // namespace cubind
