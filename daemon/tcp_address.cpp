#include "daemon/tcp_address.hpp"

#include <array>
#include <charconv>

#include <arpa/inet.h>

namespace cubind {

std::optional<TcpAddress> parse_tcp_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  TcpAddress address;
  const auto number = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), address.port);
  if (error != std::errc() || end != number.data() + number.size() || address.port == 0) return std::nullopt;
  auto host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  address.host = host;
  std::array<unsigned char, 16> parsed{};
  if (::inet_pton(bracketed ? AF_INET6 : AF_INET, address.host.c_str(), parsed.data()) != 1) return std::nullopt;
  return address;
}

std::string to_string(const TcpAddress& address) {
  const auto host = address.is_v6() ? "[" + address.host + "]" : address.host;
  return host + ":" + std::to_string(address.port);
}

}  // namespace cubind
