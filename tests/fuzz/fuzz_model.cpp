// A model's config.json, and the side file behind a zero byte if there is one: read, and its layers found. Errors are
// one short line.
#include <string>

#include "client/model/hf_config.hpp"
#include "client/model/model_layers.hpp"
#include "tests/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size), side;
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    side = text.substr(zero + 1);
    text = text.substr(0, zero);
  }
  const auto check = [](const cubind::Error& error) {
    cubind::fuzz::require(error.message.size() < 1000 && error.message.find('\n') == std::string::npos);
  };
  const auto config = cubind::parse_hf_config(text, side);
  if (!config.ok()) {
    check(config.error());
    return 0;
  }
  const auto layers = cubind::quantized_layers(*config, {});
  if (!layers.ok()) check(layers.error());
  return 0;
}
