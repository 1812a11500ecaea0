#include "daemon/metrics_http.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.hpp"

namespace cubind {

namespace {

namespace asio = boost::asio;
using ErrorCode_ = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

constexpr std::chrono::seconds kWholeExchange{5};  // from accept to the last byte
constexpr std::size_t kMaxPeers = 16;              // scrapers come one at a time
constexpr std::chrono::seconds kAcceptPause{1};    // when there are no descriptors left

// What the peers of one server share. Gone with it: `page` is then not there any more.
struct Shared {
  MetricsPage page;
  std::size_t peers = 0;
};

class Scraper final : public std::enable_shared_from_this<Scraper> {
 public:
  Scraper(asio::io_context& loop, int family, UniqueFd fd, std::shared_ptr<Shared> shared)
      : socket_(loop, asio::generic::stream_protocol(family, 0), fd.get()), timer_(loop), shared_(std::move(shared)) {
    static_cast<void>(fd.release());
    ++shared_->peers;
  }
  ~Scraper() { --shared_->peers; }

  void start() {
    timer_.expires_after(kWholeExchange);
    timer_.async_wait([weak = weak_from_this()](ErrorCode_ error) {
      if (const auto self = weak.lock(); self && !error) self->close();
    });
    read();
  }

 private:
  void read() {
    socket_.async_receive(asio::buffer(space_), [self = shared_from_this()](ErrorCode_ error, std::size_t count) {
      if (error) return self->close();
      self->head_.append(self->space_.data(), count);
      auto answer = http_answer(self->head_, self->shared_->page);
      if (!answer) return self->read();
      self->write(*std::move(answer));
    });
  }

  void write(std::string answer) {
    answer_ = std::move(answer);
    asio::async_write(socket_, asio::buffer(answer_),
                      [self = shared_from_this()](ErrorCode_, std::size_t) { self->close(); });
  }

  void close() {
    timer_.cancel();
    ErrorCode_ ignored;
    socket_.close(ignored);
  }

  Socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<Shared> shared_;
  std::array<char, 1024> space_{};
  std::string head_, answer_;
};

class Acceptor {
 public:
  Acceptor(asio::io_context& loop, int family, UniqueFd fd, std::shared_ptr<Shared> shared)
      : loop_(loop), family_(family), listener_(loop, fd.release()), pause_(loop), shared_(std::move(shared)) {
    wait();
  }

 private:
  void wait() {
    listener_.async_wait(asio::posix::stream_descriptor::wait_read, [this](ErrorCode_ error) {
      if (!error) accept_all();
    });
  }

  void accept_all() {
    for (;;) {
      UniqueFd fd(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd && shared_->peers < kMaxPeers) {
        std::make_shared<Scraper>(loop_, family_, std::move(fd), shared_)->start();
      } else if (fd || errno == ECONNABORTED || errno == EINTR) {
        continue;
      } else if (errno == EAGAIN) {
        return wait();
      } else {
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](ErrorCode_ error) {
          if (!error) accept_all();
        });
        return;
      }
    }
  }

  asio::io_context& loop_;
  int family_;
  asio::posix::stream_descriptor listener_;
  asio::steady_timer pause_;
  std::shared_ptr<Shared> shared_;
};

Result<UniqueFd> listen_on(const TcpAddress& address) {
  const auto failed = [&](const char* what) {
    return Error{ErrorCode::unavailable, to_string(address) + ": " + what + ": " + std::strerror(errno)};
  };
  const int family = address.is_v6() ? AF_INET6 : AF_INET;
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed("socket");
  const int yes = 1;
  static_cast<void>(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)));
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  v4.sin_port = v6.sin6_port = htons(address.port);
  ::inet_pton(family, address.host.c_str(),
              family == AF_INET6 ? static_cast<void*>(&v6.sin6_addr) : static_cast<void*>(&v4.sin_addr));
  const auto* name =
      family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  const auto length = static_cast<socklen_t>(family == AF_INET6 ? sizeof(v6) : sizeof(v4));
  if (::bind(fd.get(), name, length) != 0) return failed("bind");
  if (::listen(fd.get(), SOMAXCONN) != 0) return failed("listen");
  return fd;
}

class HttpServer final : public MetricsHttp {
 public:
  HttpServer(asio::io_context& loop, MetricsHttpOptions options, MetricsPage page)
      : shared_(std::make_shared<Shared>(Shared{std::move(page)})) {
    if (options.socket) {
      auto made = ListeningSocket::make(*options.socket);
      if (made.ok()) {
        socket_.emplace(*std::move(made));
        serve(loop, UniqueFd(::dup(socket_->fd())));
      } else {
        give_up(made.error());
      }
    }
    if (options.listen) {
      auto made = listen_on(*options.listen);
      if (made.ok()) {
        serve(loop, *std::move(made));
      } else {
        give_up(made.error());
      }
    }
    for (auto& fd : options.passed) serve(loop, std::move(fd));
  }

 private:
  void serve(asio::io_context& loop, UniqueFd fd) {
    int family = AF_UNIX;
    socklen_t size = sizeof(family);
    static_cast<void>(::getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &family, &size));
    static_cast<void>(::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK));  // systemd's may block
    acceptors_.push_back(std::make_unique<Acceptor>(loop, family, std::move(fd), shared_));
  }

  static void give_up(const Error& error) {
    log(LogLevel::warn, "metrics_off", {{"error", error.message}, {"then", "kernels are served, metrics not there"}});
  }

  std::shared_ptr<Shared> shared_;
  std::optional<ListeningSocket> socket_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace

std::unique_ptr<MetricsHttp> start_metrics_http(asio::io_context& loop, MetricsHttpOptions options, MetricsPage page) {
  return std::make_unique<HttpServer>(loop, std::move(options), std::move(page));
}

}  // namespace cubind
