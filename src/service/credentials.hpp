// The user and password that a client must show, and how a secret is compared with a guess.
//
// Any thread. Not for: when credentials are asked for (logins.hpp).
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace weir::inline v0_1::service {

// Takes a time that depends on the length of the guess alone: not on the secret, nor on how much of it is
// right.
bool same_secret(std::string_view secret, std::string_view guess);

class Credentials {
 public:
  // Without a password nothing is required.
  Credentials(std::string user, std::string password)
      : user_(std::move(user)), password_(std::move(password)) {}

  bool required() const { return !password_.empty(); }
  bool match(std::string_view user, std::string_view password) const;

 private:
  std::string user_;
  std::string password_;
};

}  // namespace weir::service
