// A daemon for the client's unit tests: a real socket and the real encoding, with answers made up by the test. Serves
// each connection on a thread of its own. Its kernels are a few bytes that look like an ELF file, enough for the
// recording libcuda; what a kernel computes is not its business.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "protocol/messages.hpp"

namespace cubind::test {

// One connection as a handler sees it.
class Session {
 public:
  explicit Session(int fd) : fd_(fd) {}
  // False if the client is gone.
  bool reply(const Reply& reply, ByteView code = {});
  bool raw(ByteView bytes);
  void close();  // handler's way to die in the middle

 private:
  int fd_;
};

class ScriptedDaemon {
 public:
  // Returns false to close the connection.
  using Handler = std::function<bool(Session&, const Request&)>;

  explicit ScriptedDaemon(std::string socket_path);
  ~ScriptedDaemon() { stop(); }

  void start(Handler handler);
  void stop();  // closes every connection and removes the socket

  ServerHello hello;  // change it before start()
  const std::string& path() const { return path_; }
  int connections() const { return connections_; }

 private:
  void serve(int fd);

  std::string path_;
  Handler handler_;
  UniqueFd listener_, wake_read_, wake_write_;
  std::thread acceptor_;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> sessions_;
  std::atomic<int> connections_{0};
};

// A kernel that check rules of the client accept; `index` makes key, name and code differ.
KernelReply made_up_kernel(std::uint64_t id, unsigned index);
Bytes made_up_code(unsigned index);
KernelKey made_up_key(unsigned index);

// What a daemon does with a KernelsRequest: for each layer a table of `kernels_per_layer` rows, then those kernels
// (without code if held or not asked for), then the summary. `built` lists the kernels that were compiled so far, over
// all requests: others are hits.
struct MadeUpService {
  unsigned kernels_per_layer = 2;
  std::uint32_t splits_of_last_row = 1;
  std::vector<unsigned> built;
  std::vector<KernelsRequest> requests;  // as they came
  std::vector<ReadyRequest> ready;       // likewise
  std::mutex mutex;

  bool operator()(Session& session, const Request& request);
};

// A socket path in a new folder under $TMPDIR, removed with it at the end.
class TemporarySocket {
 public:
  TemporarySocket();
  ~TemporarySocket();
  std::string path() const { return folder_ + "/cubind.sock"; }

 private:
  std::string folder_;
};

}  // namespace cubind::test
