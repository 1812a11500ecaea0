// Messages of every kind with randomized contents, for tests of the encodings. Same seed, same messages.
#pragma once

#include <random>

#include "protocol/messages.hpp"

namespace cubind::test {

inline constexpr std::size_t kRequestKinds = std::variant_size_v<Request>;
inline constexpr std::size_t kReplyKinds = std::variant_size_v<Reply>;

class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : engine_(seed) {}

  // `kind` is the index in the variant.
  Request request(std::size_t kind);
  Reply reply(std::size_t kind);
  ClientHello client_hello();
  ServerHello server_hello();

  std::uint64_t number(std::uint64_t below) { return engine_() % below; }

 private:
  std::uint32_t u32();  // small, large and zero ones
  std::uint64_t u64() { return number(4) == 0 ? 0 : engine_(); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(u32()); }
  bool flag() { return number(2) != 0; }
  double real() { return static_cast<double>(u32()) / 7; }
  std::size_t count() { return number(5); }
  std::string text();
  std::vector<std::string> texts();
  Digest digest();
  std::vector<Digest> digests();
  Arch arch();
  DType dtype();
  template <class Enum>
  Enum choice(Enum last) {
    return static_cast<Enum>(number(static_cast<std::uint64_t>(last) + 1));
  }
  GemmDescriptor descriptor();
  ToolchainChoice toolchain();
  KernelSpec kernel();
  KernelInfo info();

  std::mt19937_64 engine_;
};

}  // namespace cubind::test
