#include "service/credentials.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <new>

namespace weir::service {

Credentials::Credentials(std::string_view user, std::string_view password)
    : required_(!password.empty()), user_(digest(user)), password_(digest(password)) {}

bool Credentials::match(std::string_view user, std::string_view password) const {
  const Digest given_user = digest(user);
  const Digest given_password = digest(password);
  // Both are always compared: the time must not tell which of them was wrong.
  const int wrong_user = CRYPTO_memcmp(given_user.data(), user_.data(), user_.size());
  const int wrong_password = CRYPTO_memcmp(given_password.data(), password_.data(), password_.size());
  return (wrong_user | wrong_password) == 0;
}

Credentials::Digest Credentials::digest(std::string_view text) {
  Digest result;
  if (EVP_Digest(text.data(), text.size(), result.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();  // the only way in which SHA-256 fails
  }
  return result;
}

}  // namespace weir::service
