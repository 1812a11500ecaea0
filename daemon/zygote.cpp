#include "daemon/zygote.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unordered_map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "codegen/nvrtc/options.hpp"
#include "daemon/spawn_worker.hpp"
#include "daemon/worker_protocol.hpp"

namespace cubind {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using worker::Kind;
using worker::Message;

namespace {
using std::chrono::milliseconds;
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10'000};
constexpr milliseconds kStartTimeout{60'000};  // loading NVRTC from a cold, slow disk takes seconds
constexpr int kPatience = 3;                   // starts that fail in a row before waiting jobs are told
constexpr int kPipeBytes = 1 << 20;            // a whole result fits, so a child never waits for us to read

void kill_by(const UniqueFd& pidfd) {
  if (pidfd) ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

Error system_error(const std::string& what) {
  const bool scarce = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EAGAIN;
  return {scarce ? ErrorCode::resource_exhausted : ErrorCode::internal, what + ": " + std::strerror(errno)};
}

Error passed(const char* setting, std::chrono::seconds limit, const char* measured) {
  return {ErrorCode::timed_out,
          std::string("the compile passed ") + setting + " \"" + std::to_string(limit.count()) + "s\" " + measured};
}

Result<UniqueFd> unit_file(const CompileUnit& unit) {
  UniqueFd file(::memfd_create("unit", MFD_CLOEXEC));
  if (!file) return system_error("the unit has no file");
  const auto bytes = worker::encode_unit(unit);
  for (std::size_t at = 0; at < bytes.size();) {
    const auto written = ::write(file.get(), bytes.data() + at, bytes.size() - at);
    if (written < 0) return system_error("the unit cannot be written");
    at += static_cast<std::size_t>(written);
  }
  return file;
}

bool send_run(int control, const Message& message, int unit, int result) {
  const auto bytes = worker::encode_message(message);
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  const int descriptors[2] = {unit, result};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(descriptors))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof(space);
  auto* cmsg = CMSG_FIRSTHDR(&header);
  cmsg->cmsg_level = SOL_SOCKET;
  cmsg->cmsg_type = SCM_RIGHTS;
  cmsg->cmsg_len = CMSG_LEN(sizeof(descriptors));
  std::memcpy(CMSG_DATA(cmsg), descriptors, sizeof(descriptors));
  return ::sendmsg(control, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

enum class Received { message, nothing, end };

Received receive(int control, Message& message, UniqueFd& descriptor) {
  std::byte packet[worker::kMaxMessage];
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))];
  iovec part{packet, sizeof(packet)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof(space);
  const auto size = ::recvmsg(control, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return errno == EAGAIN || errno == EINTR ? Received::nothing : Received::end;
  if (size == 0) return Received::end;
  descriptor.reset();
  if (const auto* cmsg = CMSG_FIRSTHDR(&header); cmsg != nullptr && cmsg->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
    descriptor.reset(fd);
  }
  auto decoded = worker::decode_message({packet, static_cast<std::size_t>(size)});
  if (!decoded.ok()) return Received::end;
  message = std::move(*decoded);
  return Received::message;
}
}  // namespace

// The state of one process after another. Handlers carry the generation they belong to: what was queued for a process
// that is gone finds another number and does nothing.
class Zygote::Process : public std::enable_shared_from_this<Process> {
 public:
  Process(asio::io_context& io, ZygoteConfig config, Owner& owner, Zygote& zygote)
      : io_(io), config_(std::move(config)), owner_(owner), zygote_(zygote), control_(io), exit_(io), timer_(io) {}

  void start();
  void run(JobId id, const CompileUnit& unit);
  void stop(JobId id, Error why);
  void close();

  const Toolchain& toolchain() const { return config_.toolchain; }
  bool ready() const { return ready_; }
  int pid() const { return pid_; }

 private:
  struct Child {
    explicit Child(asio::io_context& io) : pipe(io), timer(io) {}
    stream_descriptor pipe;
    asio::steady_timer timer;
    UniqueFd pidfd;  // once it has started
    Bytes received;
    bool pipe_ended = false;
    std::optional<Error> ended;  // what the zygote says of its end; code ok = by itself
    std::optional<Error> why_stopped;
  };
  using Children = std::unordered_map<JobId, std::unique_ptr<Child>>;

  // `handler` of this object, unless the process it was meant for is gone by then.
  template <class Handler>
  auto here(Handler handler) {
    return [self = shared_from_this(), generation = generation_, handler](boost::system::error_code error = {}) {
      if (!error && generation == self->generation_) handler();
    };
  }

  void watch_control();
  void watch_exit();
  void watch_pipe(JobId id);
  bool read_control();  // false at its end
  void take(Message message, UniqueFd descriptor);
  void read_pipe(Child& child);
  void finish_if_done(JobId id);
  void exited();
  void went_down(const Error& why);
  void fail_later(JobId id, Error why, bool lost);

  asio::io_context& io_;
  const ZygoteConfig config_;
  Owner& owner_;
  Zygote& zygote_;
  std::uint64_t generation_ = 1;
  stream_descriptor control_, exit_;  // our end of the socket; the pidfd, readable when the process has ended
  asio::steady_timer timer_;          // of the start, then of the pause before the next
  int pid_ = -1;
  bool ready_ = false;
  bool closed_ = false;
  int failed_starts_ = 0;
  std::optional<Error> refusal_;
  Children children_;
};

void Zygote::Process::start() {
  refusal_.reset();
  std::vector<std::string> arguments{config_.toolchain.nvrtc_path, config_.toolchain.builtins_path};
  constexpr Arch kWarmupArch{80, '\0'};  // every version we accept has it
  for (auto& option : compile_options(config_.toolchain, kWarmupArch)) arguments.push_back(std::move(option));
  auto spawned = spawn_worker(config_.worker_path, arguments);
  if (!spawned.ok()) {
    ++failed_starts_;
    refusal_ = spawned.error();
    return went_down(spawned.error());
  }
  pid_ = spawned->pid;
  control_.assign(spawned->control.release());
  exit_.assign(spawned->pidfd.release());
  watch_control();
  watch_exit();
  timer_.expires_after(kStartTimeout);
  timer_.async_wait(here([this] {
    if (!ready_) ::kill(pid_, SIGKILL);
  }));
}

void Zygote::Process::run(JobId id, const CompileUnit& unit) {
  auto file = unit_file(unit);
  if (!file.ok()) return fail_later(id, file.error(), false);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_later(id, system_error("the result has no pipe"), false);
  UniqueFd from(ends[0]), to(ends[1]);
  ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(from.get(), F_SETPIPE_SZ,
          kPipeBytes);  // where the user's quota of pipes is used up it stays small: slower only

  Message message{Kind::run, id};
  message.memory_bytes = config_.memory_bytes;
  message.cpu_seconds = static_cast<std::uint32_t>(config_.cpu_time.count());
  if (!send_run(control_.native_handle(), message, file->get(), to.get())) {
    // It is gone, and exited() hears of it in a moment. Until the next one is ready nothing must be sent: a job would
    // lose both of its chances to the same dead zygote.
    if (errno == EPIPE || errno == ECONNRESET) ready_ = false;
    return fail_later(id, {ErrorCode::unavailable, "the compile worker is gone"}, true);
  }
  auto child = std::make_unique<Child>(io_);
  child->pipe.assign(from.release());
  if (config_.timeout.count() != 0) {
    child->timer.expires_after(config_.timeout);
    child->timer.async_wait(here([this, id] {
      stop(id, passed("compile.timeout", config_.timeout, "by the clock"));
      // A zygote that has not even forked by now is stuck.
      const auto found = children_.find(id);
      if (found != children_.end() && !found->second->pidfd) ::kill(pid_, SIGKILL);
    }));
  }
  children_.emplace(id, std::move(child));
  watch_pipe(id);
}

void Zygote::Process::stop(JobId id, Error why) {
  const auto found = children_.find(id);
  if (found == children_.end() || found->second->why_stopped) return;
  found->second->why_stopped = std::move(why);
  kill_by(found->second->pidfd);  // or, if it has not started yet, as soon as it says so
}

void Zygote::Process::close() {
  ++generation_;
  ready_ = false;
  closed_ = true;
  for (const auto& [id, child] : children_) kill_by(child->pidfd);
  children_.clear();
  timer_.cancel();
  boost::system::error_code ignored;
  control_.close(ignored);
  exit_.close(ignored);
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);  // milliseconds: it was killed
  }
  pid_ = -1;
}

void Zygote::Process::watch_control() {
  control_.async_wait(stream_descriptor::wait_read, here([this] {
                        if (read_control()) return watch_control();
                        ::kill(pid_, SIGKILL);  // it closed the socket or talks nonsense; exited() goes on from here
                      }));
}

void Zygote::Process::watch_exit() {
  exit_.async_wait(stream_descriptor::wait_read, here([this] { exited(); }));
}

void Zygote::Process::watch_pipe(JobId id) {
  const auto found = children_.find(id);
  if (found == children_.end() || found->second->pipe_ended) return;
  found->second->pipe.async_wait(stream_descriptor::wait_read, here([this, id] {
                                   const auto child = children_.find(id);
                                   if (child == children_.end()) return;
                                   read_pipe(*child->second);
                                   finish_if_done(id);
                                   watch_pipe(id);
                                 }));
}

bool Zygote::Process::read_control() {
  Message message;
  UniqueFd descriptor;
  const auto generation = generation_;
  while (true) {
    switch (receive(control_.native_handle(), message, descriptor)) {
      case Received::end: return false;
      case Received::nothing: return true;
      case Received::message: take(std::move(message), std::move(descriptor)); break;
    }
    if (generation != generation_) return true;  // the owner closed us from inside a callback
  }
}

void Zygote::Process::take(Message message, UniqueFd descriptor) {
  if (message.kind == Kind::ready) {
    // What it has loaded is in the keys of what it compiles. Looked at after the load: an upgrade may come at any time.
    if (!is_unchanged(config_.toolchain)) {
      refusal_ = Error{ErrorCode::unavailable, "toolchain \"" + config_.toolchain.id + "\" is not what is in \"" +
                                                   config_.toolchain.nvrtc_path + "\" any more: restart the daemon"};
      ::kill(pid_, SIGKILL);  // exited() goes on from here
      return;
    }
    ready_ = true;
    failed_starts_ = 0;
    return owner_.on_ready(zygote_);
  }
  if (message.kind == Kind::refused) {
    refusal_ = Error{message.code, std::move(message.text)};
    return;
  }
  const auto found = children_.find(message.job);
  if (found == children_.end()) return;  // its result came before its end: done already
  auto& child = *found->second;
  if (message.kind == Kind::started) {
    child.pidfd = std::move(descriptor);
    if (child.why_stopped) kill_by(child.pidfd);
  } else if (message.kind == Kind::ended) {
    child.ended = Error{message.code, std::move(message.text)};
    read_pipe(child);
    finish_if_done(message.job);
  }
}

void Zygote::Process::read_pipe(Child& child) {
  constexpr std::size_t kPiece = 256 << 10;
  while (!child.pipe_ended) {
    const auto at = child.received.size();
    child.received.resize(at + kPiece);
    const auto got = ::read(child.pipe.native_handle(), child.received.data() + at, kPiece);
    child.received.resize(at + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) child.pipe_ended = true;
    if (got <= 0) return;
  }
}

void Zygote::Process::finish_if_done(JobId id) {
  auto& child = *children_.at(id);
  auto result = worker::decode_result(child.received);
  const bool whole = result.ok() && result->has_value();
  if (!whole && !(child.pipe_ended && child.ended)) return;
  const auto taken = std::move(children_.extract(id).mapped());
  if (taken->why_stopped) return owner_.on_done(id, *taken->why_stopped);
  if (whole) return owner_.on_done(id, std::move(**result));
  if (taken->ended->code == ErrorCode::timed_out) {  // the only limit that the child's own end can tell of
    return owner_.on_done(id, passed("compile.cpu_time", config_.cpu_time, "of processor time"));
  }
  if (taken->ended->code != ErrorCode::ok) return owner_.on_done(id, *taken->ended);
  owner_.on_done(id, Error{ErrorCode::internal, "the compile worker ended without a result"});
}

void Zygote::Process::exited() {
  const auto self = shared_from_this();
  read_control();  // what it said last
  int status = 0;
  ::waitpid(pid_, &status, 0);  // ready to be reaped: the pidfd said so
  ++generation_;
  if (!ready_) ++failed_starts_;
  ready_ = false;
  pid_ = -1;
  boost::system::error_code ignored;
  control_.close(ignored);
  exit_.close(ignored);
  timer_.cancel();

  Error why{ErrorCode::unavailable, "the compile worker of \"" + config_.toolchain.id + "\" "};
  why.message += WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                                     : "ended with exit code " + std::to_string(WEXITSTATUS(status));
  if (refusal_) why = *refusal_;
  const auto generation = generation_;
  const auto orphans = std::exchange(children_, {});
  for (const auto& [id, child] : orphans) {
    kill_by(child->pidfd);
    read_pipe(*child);
    auto result = worker::decode_result(child->received);
    if (child->why_stopped) {
      owner_.on_done(id, *child->why_stopped);
    } else if (result.ok() && result->has_value()) {
      owner_.on_done(id, std::move(**result));
    } else {
      owner_.on_lost(id, why);
    }
    if (generation != generation_) return;
  }
  went_down(why);
}

void Zygote::Process::went_down(const Error& why) {
  auto pause = kFirstPause;
  for (int i = 1; i < failed_starts_ && pause < kLongestPause; ++i) pause *= 2;
  timer_.expires_after(std::min(pause, kLongestPause));
  timer_.async_wait(here([this] { start(); }));
  const bool tell = refusal_ || failed_starts_ >= kPatience;
  if (tell) asio::post(io_, here([this, why] { owner_.on_down(zygote_, why); }));
}

void Zygote::Process::fail_later(JobId id, Error why, bool lost) {
  // Told also if the process ends meanwhile (it knows nothing of this job), but not after close().
  asio::post(io_, [self = shared_from_this(), id, why = std::move(why), lost] {
    if (self->closed_) return;
    lost ? self->owner_.on_lost(id, why) : self->owner_.on_done(id, why);
  });
}

Zygote::Zygote(asio::io_context& io, ZygoteConfig config, Owner& owner)
    : process_(std::make_shared<Process>(io, std::move(config), owner, *this)) {
  process_->start();
}
Zygote::~Zygote() {
  process_->close();
}

const Toolchain& Zygote::toolchain() const {
  return process_->toolchain();
}
bool Zygote::ready() const {
  return process_->ready();
}
int Zygote::pid() const {
  return process_->pid();
}
void Zygote::run(JobId job, const CompileUnit& unit) {
  process_->run(job, unit);
}
void Zygote::cancel(JobId job) {
  process_->stop(job, {ErrorCode::cancelled, "the compile was cancelled"});
}

}  // namespace cubind
