// The yardstick of the hit figures: a bare epoll server that answers requests of one size with replies of one size, and
// its blocking client. No parsing, no framing, nothing but the socket calls.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cubind::bench {

class RawServer {
 public:
  // Forks the server; it listens when this returns. It runs until the object goes.
  static Result<RawServer> start(const std::string& socket, std::size_t request_bytes, std::size_t reply_bytes);
  RawServer(RawServer&& other) noexcept;
  RawServer& operator=(RawServer&&) = delete;
  ~RawServer();

 private:
  explicit RawServer(int pid) : pid_(pid) {}
  int pid_;
};

class RawClient {
 public:
  // The reply is read as frames of these sizes, each into a buffer of its own size.
  static Result<RawClient> connect(const std::string& socket, std::size_t request_bytes,
                                   const std::vector<std::size_t>& frames);
  Status round_trip();

 private:
  RawClient() = default;
  UniqueFd fd_;
  std::vector<std::byte> request_;
  std::vector<std::vector<std::byte>> frames_;
};

}  // namespace cubind::bench
