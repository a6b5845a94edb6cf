#include "steering/password_hash.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <optional>
#include <stdexcept>

#include "core/number.hpp"

namespace weir::inline v0_1::steering {
namespace {

constexpr std::string_view kScheme = "scrypt$";
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kLeastSalt = 8;
constexpr std::size_t kLeastHash = 16;
constexpr std::size_t kMostBytes = 64;  // of either
constexpr unsigned kLeastLogN = 10;
// Some ten times what we make takes: a file must not keep the threads busy that compare.
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 23;

constexpr std::string_view kForm =
    "is not scrypt$14$8$5$SALT$HASH with hexadecimal digits; `weir ctl hash` makes one";

std::optional<std::string> read_hex(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// What stands before the next '$', which is taken from `rest` too.
std::string_view take_part(std::string_view& rest) {
  const std::size_t at = rest.find('$');
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return part;
}

// 0 when it is something else than a number from 1 to 1,024.
unsigned take_number(std::string_view& rest) {
  const auto number = core::parse_integer(take_part(rest));
  return number && *number > 0 && *number <= 1024 ? static_cast<unsigned>(*number) : 0;
}

}  // namespace

tl::expected<PasswordHash, std::string> PasswordHash::parse(std::string_view text) {
  const auto refuse = [](std::string_view why) { return tl::unexpected(std::string(why)); };
  if (!text.starts_with(kScheme)) return refuse(kForm);
  text.remove_prefix(kScheme.size());
  PasswordHash read;
  read.work_.log_n = take_number(text);
  read.work_.r = take_number(text);
  read.work_.p = take_number(text);
  const auto salt = read_hex(take_part(text));
  const auto hash = read_hex(text);
  if (read.work_.log_n == 0 || read.work_.r == 0 || read.work_.p == 0 || !salt || !hash) return refuse(kForm);
  if (salt->size() < kLeastSalt || salt->size() > kMostBytes || hash->size() < kLeastHash ||
      hash->size() > kMostBytes)
    return refuse("has a salt that is not of 8 to 64 bytes, or a hash that is not of 16 to 64");
  if (read.work_.log_n < kLeastLogN || read.work_.log_n > 30 || read.work_.memory() > kMostMemory ||
      read.work_.steps() > kMostSteps)
    return refuse(
        "asks for an N below 2^10, or for more than 64 MiB (128 * N * r) or 2^23 steps (N * r * p)");
  read.salt_ = *salt;
  read.hash_ = *hash;
  return read;
}

PasswordHash PasswordHash::of(std::string_view password, Work work) {
  std::array<unsigned char, kSaltBytes> salt{};
  if (RAND_bytes(salt.data(), kSaltBytes) != 1) throw std::runtime_error("the system gives no random bytes");
  PasswordHash made;
  made.work_ = work;
  made.salt_.assign(salt.begin(), salt.end());
  made.hash_ = made.derive(password, kHashBytes);
  if (made.hash_.empty()) throw std::runtime_error("there is no memory to hash a password");
  return made;
}

std::string PasswordHash::text() const {
  return std::string(kScheme) + std::to_string(work_.log_n) + "$" + std::to_string(work_.r) + "$" +
         std::to_string(work_.p) + "$" + hex(salt_) + "$" + hex(hash_);
}

bool PasswordHash::matches(std::string_view password) const {
  const std::string guess = derive(password, hash_.size());
  return guess.size() == hash_.size() && CRYPTO_memcmp(guess.data(), hash_.data(), hash_.size()) == 0 &&
         password.size() <= kMostPassword;
}

std::string PasswordHash::derive(std::string_view password, std::size_t bytes) const {
  password = password.substr(0, kMostPassword);
  std::string hash(bytes, '\0');
  // OpenSSL counts some more than 128 * N * r.
  constexpr std::uint64_t kAllowed = kMostMemory + (std::uint64_t{1} << 20);
  if (EVP_PBE_scrypt(password.data(), password.size(), reinterpret_cast<const unsigned char*>(salt_.data()),
                     salt_.size(), std::uint64_t{1} << work_.log_n, work_.r, work_.p, kAllowed,
                     reinterpret_cast<unsigned char*>(hash.data()), hash.size()) != 1)
    hash.clear();
  return hash;
}

}  // namespace weir::steering
