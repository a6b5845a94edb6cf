// A password's hash by scrypt (RFC 7914), as a users file has it: scrypt$14$8$5$SALT$HASH, which is N = 2^14,
// r = 8, p = 5, and the last two in hexadecimal digits.
//
// Plain values, any thread; but making one and comparing with one takes a tenth of a second, so no event loop
// does. Not for: tokens, which are too long to be guessed and are kept as a SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weir::inline v0_1::steering {

class PasswordHash {
 public:
  // A longer one is refused where it is chosen, and is wrong where it is shown.
  static constexpr std::size_t kMostPassword = 1024;
  // What scrypt works on, and so what each password that is compared takes meanwhile.
  static constexpr std::size_t kMostMemory = std::size_t{64} << 20;

  // scrypt's N is 2 to the power of `log_n`; it takes 128 * N * r bytes, p times one after the other.
  struct Work {
    unsigned log_n = 14;
    unsigned r = 8;
    unsigned p = 5;

    std::uint64_t memory() const { return (std::uint64_t{128} << log_n) * r; }
    std::uint64_t steps() const { return (std::uint64_t{1} << log_n) * r * p; }
  };

  // The hash, or a sentence that says what is wrong; never the text itself, which may be a password.
  static tl::expected<PasswordHash, std::string> parse(std::string_view text);
  // With a salt of the system's generator.
  static PasswordHash of(std::string_view password, Work work);
  static PasswordHash of(std::string_view password) { return of(password, Work{}); }

  std::string text() const;
  bool matches(std::string_view password) const;
  // A guess at it costs less than at those that we make.
  bool is_weak() const { return steps() < Work{}.steps(); }
  std::uint64_t steps() const { return work_.steps(); }

 private:
  // Empty: there is no memory for it.
  std::string derive(std::string_view password, std::size_t bytes) const;

  Work work_;
  std::string salt_;
  std::string hash_;
};

}  // namespace weir::steering
