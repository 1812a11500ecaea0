#include <memory>

#include <openssl/evp.h>

#include "base/digest.hpp"

namespace cubind {

namespace {
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

Context begin() {
  Context context(EVP_MD_CTX_new());
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  return context;
}

Digest end(Context context) {
  Digest digest;
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest.bytes.data(), &length);
  return digest;
}
}  // namespace

Digest sha256(ByteView data) {
  auto context = begin();
  EVP_DigestUpdate(context.get(), data.data(), data.size());
  return end(std::move(context));
}

void FieldHasher::field(std::string_view name, std::string_view value) {
  ingredients_.push_back({std::string(name), std::string(value)});
}

Digest FieldHasher::finish() const {
  auto context = begin();
  for (const auto& [name, value] : ingredients_) {
    std::byte length[8];
    store_le(length, static_cast<std::uint32_t>(name.size()));
    EVP_DigestUpdate(context.get(), length, 4);
    EVP_DigestUpdate(context.get(), name.data(), name.size());
    store_le(length, static_cast<std::uint64_t>(value.size()));
    EVP_DigestUpdate(context.get(), length, 8);
    EVP_DigestUpdate(context.get(), value.data(), value.size());
  }
  return end(std::move(context));
}

}  // namespace cubind
