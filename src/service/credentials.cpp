#include "service/credentials.hpp"

#include <openssl/crypto.h>

namespace weir::inline v0_1::service {

bool same_secret(std::string_view secret, std::string_view guess) {
  // One of another length is compared with itself, which takes as long.
  const bool same_length = secret.size() == guess.size();
  const std::string_view with = same_length ? secret : guess;
  const bool same = CRYPTO_memcmp(with.data(), guess.data(), guess.size()) == 0;
  return same && same_length;
}

bool Credentials::match(std::string_view user, std::string_view password) const {
  // Both are always compared: the time must not tell which of them was wrong.
  const bool right_user = same_secret(user_, user);
  const bool right_password = same_secret(password_, password);
  return right_user && right_password;
}

}  // namespace weir::service
