#include "tests/support/scripted_daemon.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/wire.hpp"
#include "protocol/kernel_abi.hpp"
#include "protocol/limits.hpp"

namespace cubind::test {
namespace {

bool read_exact(int fd, std::byte* out, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::recv(fd, out, count, 0);
    if (got <= 0) return false;
    out += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

bool read_frame(int fd, Bytes& payload) {
  std::byte header[4];
  if (!read_exact(fd, header, sizeof header)) return false;
  const auto size = load_le<std::uint32_t>(header);
  if (size > limits::kMaxRequestBytes) return false;
  payload.resize(size);
  return read_exact(fd, payload.data(), size);
}

}  // namespace

bool Session::raw(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Session::reply(const Reply& reply, ByteView code) {
  return raw(wire::encode(reply)) && raw(code);
}

void Session::close() {
  ::shutdown(fd_, SHUT_RDWR);
}

ScriptedDaemon::ScriptedDaemon(std::string socket_path) : path_(std::move(socket_path)) {
  hello.version = kProtocolMax;
  hello.daemon = "scripted";
  hello.launch_abi = kLaunchAbi;
  hello.weight_layout = kWeightLayout;
}

void ScriptedDaemon::start(Handler handler) {
  handler_ = std::move(handler);
  ::unlink(path_.c_str());
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  int wake[2];
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 64) != 0 || ::pipe(wake) != 0) {
    throw std::runtime_error("scripted daemon: cannot listen on " + path_);
  }
  wake_read_.reset(wake[0]);
  wake_write_.reset(wake[1]);
  acceptor_ = std::thread([this] {
    for (;;) {
      pollfd entries[] = {{listener_.get(), POLLIN, 0}, {wake_read_.get(), POLLIN, 0}};
      if (::poll(entries, 2, -1) < 0) continue;
      if (entries[1].revents != 0) return;
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      sessions_.emplace_back([this, fd] { serve(fd); });
    }
  });
}

void ScriptedDaemon::serve(int fd) {
  Bytes payload;
  Session session(fd);
  if (read_frame(fd, payload) && wire::decode_client_hello(payload).ok() && session.raw(wire::encode(hello))) {
    while (hello.version != 0 && read_frame(fd, payload)) {
      const auto request = wire::decode_request(payload);
      if (!request || !handler_(session, *request)) break;
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
}

void ScriptedDaemon::stop() {
  if (!acceptor_.joinable()) return;
  ::unlink(path_.c_str());
  wake_write_.reset();
  acceptor_.join();
  listener_.reset();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& session : sessions_) session.join();
  sessions_.clear();
}

KernelKey made_up_key(unsigned index) {
  KernelKey key;
  key.bytes.fill(static_cast<std::uint8_t>(index + 1));
  return key;
}

Bytes made_up_code(unsigned index) {
  return to_bytes(
      "\x7f"
      "ELF made-up cubin " +
      std::to_string(index) + '\0');  // the recording libcuda reads to the NUL
}

KernelReply made_up_kernel(std::uint64_t id, unsigned index) {
  KernelReply reply;
  reply.id = id;
  reply.key = made_up_key(index);
  reply.outcome = Outcome::built;
  reply.info.name = "made-up-" + std::to_string(index);
  reply.info.entry = kEntryName;
  reply.info.arch = {90, '\0'};
  reply.info.launch_abi = kPlainLaunchAbi;
  reply.info.weight_layout = kWeightLayout;
  reply.info.tile_m = 16 * (index + 1);
  reply.info.tile_n = 64;
  reply.info.tile_k = 128;
  reply.info.threads = 128;
  reply.info.smem_bytes = 1024 * (index + 1);
  reply.info.registers = 100;
  reply.info.toolchain = "made-up-13.0";
  reply.info.compile_ms = 10;
  reply.code_bytes = static_cast<std::uint32_t>(made_up_code(index).size());
  return reply;
}

bool MadeUpService::operator()(Session& session, const Request& request) {
  const std::lock_guard lock(mutex);
  if (const auto* stats = std::get_if<StatsRequest>(&request)) {
    return session.reply(StatsReply{stats->id, {{"compiles_total", static_cast<double>(built.size())}}});
  }
  if (const auto* health = std::get_if<HealthRequest>(&request)) {
    HealthReply reply;
    reply.id = health->id;
    reply.daemon = "scripted 0.1.0";
    reply.pid = 42;
    return session.reply(reply);
  }
  if (const auto* declared = std::get_if<ReadyRequest>(&request)) {
    ready.push_back(*declared);
    return session.reply(DoneReply{declared->id, "noted"});
  }
  const auto* wanted = std::get_if<KernelsRequest>(&request);
  if (wanted == nullptr) return true;
  requests.push_back(*wanted);
  for (std::uint32_t i = 0; i < wanted->layers.size(); ++i) {
    TableReply table{wanted->id, i, {}, {}};
    const std::uint32_t max_m = wanted->layers[i].max_m;
    for (unsigned row = 0; row < kernels_per_layer; ++row) {
      const bool last = row + 1 == kernels_per_layer;
      const std::uint32_t first = row == 0 ? 1 : table.rows.back().m_last + 1;
      table.rows.push_back({first, last ? max_m : 16 * (row + 1), row, last ? splits_of_last_row : 1, 4});
      table.kernels.push_back(made_up_key(row));
    }
    if (!session.reply(table)) return false;
  }
  SummaryReply summary;
  summary.id = wanted->id;
  for (unsigned index = 0; index < kernels_per_layer; ++index) {
    KernelReply reply = made_up_kernel(wanted->id, index);
    const bool known = std::find(built.begin(), built.end(), index) != built.end();
    if (!known) built.push_back(index);
    reply.outcome = known ? Outcome::hit_memory : Outcome::built;
    const bool held = std::find(wanted->held.begin(), wanted->held.end(), reply.key) != wanted->held.end();
    if (held || !wanted->with_code) reply.code_bytes = 0;
    const Bytes code = made_up_code(index);
    if (!session.reply(reply, reply.code_bytes > 0 ? ByteView(code) : ByteView())) return false;
    ++summary.total;
    ++(known ? summary.hits_memory : summary.built);
  }
  return session.reply(summary);
}

TemporarySocket::TemporarySocket() {
  std::string pattern = (std::filesystem::temp_directory_path() / "cubind-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  folder_ = pattern;
}
TemporarySocket::~TemporarySocket() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace cubind::test
