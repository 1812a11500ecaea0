// The daemon's config file. What is accepted prints as a file that gives the same config.
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "daemon/config.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

cubind::Result<cubind::Config> load(std::string_view text) {
  static const int fd = ::memfd_create("cubind.toml", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  cubind::fuzz::require(::ftruncate(fd, 0) == 0);
  cubind::fuzz::require(::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return cubind::load_config(path);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = load({reinterpret_cast<const char*>(data), size});
  if (!config.ok()) {
    cubind::fuzz::require(config.error().message.find('\n') == std::string::npos);
    return 0;
  }
  const auto text = cubind::to_toml(*config);
  const auto again = load(text);
  cubind::fuzz::require(again.ok() && cubind::to_toml(*again) == text);
  return 0;
}
