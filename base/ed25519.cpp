#include "base/ed25519.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <openssl/evp.h>
#include <openssl/pem.h>

namespace cubind {

namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

int no_passphrase(char*, int, int, void*) {
  return -1;  // or OpenSSL would ask on the terminal
}

Result<Key> read_key(const std::string& path, bool is_private) {
  const std::string what = is_private ? "private" : "public";
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (!file) {
    return Error{errno == EACCES ? ErrorCode::permission_denied : ErrorCode::not_found,
                 what + " key \"" + path + "\" cannot be read: " + std::strerror(errno)};
  }
  Key key(is_private ? PEM_read_PrivateKey(file.get(), nullptr, no_passphrase, nullptr)
                     : PEM_read_PUBKEY(file.get(), nullptr, no_passphrase, nullptr));
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    return Error{ErrorCode::invalid_argument, what + " key \"" + path + "\" is not an Ed25519 key in PEM"};
  }
  return key;
}

SigningKey public_half(EVP_PKEY* key) {
  SigningKey half;
  auto size = half.bytes.size();
  EVP_PKEY_get_raw_public_key(key, half.bytes.data(), &size);
  return half;
}

const unsigned char* raw(ByteView bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Result<Signature> sign_with(const std::string& private_key_file, ByteView message) {
  CUBIND_TRY(const Key key, read_key(private_key_file, true));
  Signature signature;
  signature.key = public_half(key.get());
  const Context context(EVP_MD_CTX_new());
  auto size = signature.bytes.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.bytes.data(), &size, raw(message), message.size()) != 1) {
    return Error{ErrorCode::internal, "signing with \"" + private_key_file + "\" failed"};
  }
  return signature;
}

Result<SigningKey> read_public_key(const std::string& file) {
  CUBIND_TRY(const Key key, read_key(file, false));
  return public_half(key.get());
}

bool verifies(const Signature& signature, ByteView message) {
  const Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, signature.key.bytes.data(), signature.key.bytes.size()));
  const Context context(EVP_MD_CTX_new());
  return key && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(), raw(message),
                          message.size()) == 1;
}

}  // namespace cubind
