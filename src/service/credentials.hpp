// The user and password that a client must show. Neither is kept, only their SHA-256, so that a comparison
// takes the same time for every guess of every length. Any thread.
#pragma once

#include <array>
#include <string_view>

namespace weir::service {

class Credentials {
 public:
  // Without a password nothing is required.
  Credentials(std::string_view user, std::string_view password);

  bool required() const { return required_; }
  bool match(std::string_view user, std::string_view password) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest(std::string_view text);

  bool required_;
  Digest user_;
  Digest password_;
};

}  // namespace weir::service
