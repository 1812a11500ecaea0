// A numeric address and a port, as an operator writes it: "127.0.0.1:9155", "[::1]:9155".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cubind {

struct TcpAddress {
  std::string host;  // numeric
  std::uint16_t port = 0;
  bool operator==(const TcpAddress&) const = default;

  bool is_v6() const { return host.find(':') != std::string::npos; }
};

std::optional<TcpAddress> parse_tcp_address(std::string_view text);  // nothing if it is none
std::string to_string(const TcpAddress& address);

}  // namespace cubind
