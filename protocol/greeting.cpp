#include "protocol/greeting.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "protocol/kernel_abi.hpp"

namespace cubind {

namespace {
std::string range_text(std::uint16_t min, std::uint16_t max) {
  return "\"" + std::to_string(min) + "\" to \"" + std::to_string(max) + "\"";
}
}  // namespace

std::uint16_t highest_common_version(ProtocolRange a, ProtocolRange b) {
  if (a.min == 0 || b.min == 0 || a.min > a.max || b.min > b.max) return 0;
  const auto highest = std::min(a.max, b.max);
  return highest >= std::max(a.min, b.min) ? highest : 0;
}

ServerHello answer_greeting(const ClientHello& hello, std::string daemon, ProtocolRange ours) {
  ServerHello answer;
  answer.version = highest_common_version({hello.min_version, hello.max_version}, ours);
  answer.min_version = ours.min;
  answer.max_version = ours.max;
  answer.daemon = std::move(daemon);
  answer.launch_abi = kLaunchAbi;
  answer.weight_layout = kWeightLayout;
  return answer;
}

Status check_greeting(const ClientHello& sent, const ServerHello& answer) {
  if (answer.version == 0) {
    const char* old = answer.max_version < sent.min_version ? "the daemon is too old" : "this client is too old";
    return Error{ErrorCode::not_supported, "the daemon speaks protocol versions " +
                                               range_text(answer.min_version, answer.max_version) + ", this client " +
                                               range_text(sent.min_version, sent.max_version) + ": " + old};
  }
  if (answer.version < sent.min_version || answer.version > sent.max_version) {
    return Error{ErrorCode::corruption, "the daemon chose protocol version \"" + std::to_string(answer.version) +
                                            "\", which is not among those offered, " +
                                            range_text(sent.min_version, sent.max_version)};
  }
  return {};
}

std::uint16_t first_version_of(const Request& request) {
  constexpr std::size_t kFirstOfVersion2 = 8;
  static_assert(std::is_same_v<std::variant_alternative_t<kFirstOfVersion2, Request>, ReadyRequest>);
  return request.index() < kFirstOfVersion2 ? 1 : 2;
}

}  // namespace cubind
