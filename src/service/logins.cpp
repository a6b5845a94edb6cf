#include "service/logins.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::inline v0_1::service {
namespace {

using steering::Role;
using steering::User;
using steering::Users;

const std::string kDefaultUser = "default";  // of AUTH without a name, as in Redis

std::string by_certificate(const User& user) { return "certificate " + user.certificate; }

// Another password has another one; no word of a users file looks like it.
std::string mark_of(const std::string& user, const std::string& password) {
  std::string mark = "settings ";
  core::append_hex(core::sha256("weir login" + std::string(1, '\0') + user + '\0' + password), mark);
  return mark;
}

bool still_says(const User& user, const std::string& by) {
  if (by.empty()) return false;
  return by == user.token || by == user.password || (!user.certificate.empty() && by == by_certificate(user));
}

}  // namespace

Logins::Logins(const Settings& settings, Counters& counters, core::Notices& notices)
    : user_(settings.user),
      password_(settings.user, settings.password),
      mark_(mark_of(settings.user, settings.password)),
      token_({}, settings.http_token),
      clock_(settings.clock),
      wall_clock_(settings.wall_clock),
      matches_(settings.matches ? settings.matches
                                : [](const steering::PasswordHash& hash,
                                     const std::string& password) { return hash.matches(password); }),
      guesses_(settings.clock),
      counters_(counters),
      notices_(notices) {}

void Logins::use(const UsersInForce& users) {
  if (RAND_bytes(key_.data(), static_cast<int>(key_.size())) != 1)
    throw std::runtime_error("users: the system gives no random bytes");
  users_ = &users;
  checks_ = std::make_unique<PasswordChecks>(clock_);
}

Login Logins::at_first(std::string_view certificate, bool has_bearer) const {
  if (!takes_passwords() && (!has_bearer || !token_.required())) return {.role = Role::admin};
  Login login;
  if (users_ == nullptr) return login;
  login.version = users_->version();
  const auto users = users_->current();
  const User* const user = users->by_certificate(certificate);
  if (user == nullptr || user->ended(wall_clock_())) return login;
  return login_of(*user, by_certificate(*user), login.version);
}

bool Logins::look_again(Login& login, std::string_view certificate) const {
  if (users_ == nullptr) return false;
  const bool ended = login.until && *login.until <= wall_clock_();
  const std::uint64_t version = users_->version();
  if (!ended && login.version == version) return false;
  login = again(login, certificate);
  login.version = version;
  return true;
}

Login Logins::again(const Login& login, std::string_view certificate) const {
  if (password_.required() && login.by == mark_) return by_settings();
  if (users_ == nullptr) return at_first(certificate, false);
  const std::uint64_t version = users_->version();
  const auto users = users_->current();
  const User* const user = users->by_name(login.user);
  const bool holds = user != nullptr && !user->ended(wall_clock_()) && still_says(*user, login.by);
  return holds ? login_of(*user, login.by, version) : at_first(certificate, false);
}

Login Logins::by_settings() const { return {.user = user_, .role = Role::admin, .by = mark_}; }

Login Logins::login_of(const User& user, const std::string& by, std::uint64_t version) {
  Login login{.user = user.name, .role = user.role, .by = by, .version = version};
  if (user.until) login.until = user.until->time_since_epoch();
  return login;
}

Logins::Ruling Logins::wrong(const std::string& address) {
  guesses_.came_from(address);
  counters_.count(&Counters::auth_failures);
  notices_.tell(core::Notice::wrong_password, address);
  return {.outcome = Outcome::wrong};
}

Logins::Ruling Logins::refuse(Outcome why) {
  counters_.count(&Counters::auth_refused);
  return {.outcome = why};
}

std::optional<Logins::Ruling> Logins::judge(const Shown& shown) {
  if (!shown.known && !guesses_.may_come_from(shown.address)) return refuse(Outcome::guessed);
  if (shown.only_token && token_.required() && token_.match({}, shown.secret))
    return Ruling{.outcome = Outcome::in, .login = {.role = Role::admin}};
  if (!shown.only_token && password_.required() &&
      password_.match(shown.user ? *shown.user : kDefaultUser, shown.secret))
    return Ruling{.outcome = Outcome::in, .login = by_settings()};
  if (users_ == nullptr || shown.secret.size() > steering::PasswordHash::kMostPassword)
    return wrong(shown.address);
  const std::uint64_t version = users_->version();
  const auto users = users_->current();
  const auto lets_in = [&](const User* user, const std::string& by) {
    return Ruling{.outcome = Outcome::in, .login = login_of(*user, by, version)};
  };
  const User* const of_token = users->by_token(core::sha256(shown.secret));
  if (of_token != nullptr && !of_token->ended(wall_clock_()) && may_show_a_token(*users, *of_token, shown))
    return lets_in(of_token, of_token->token);
  if (shown.only_token || !users->has_passwords()) return wrong(shown.address);
  const User* const user = password_user(*users, shown);
  if (user != nullptr && remembers(*user, keyed(user, shown))) return lets_in(user, user->password);
  return std::nullopt;
}

// A token is its own name: a client that has to give one may give any, except that of a user with a password.
bool Logins::may_show_a_token(const Users& users, const User& of_token, const Shown& shown) const {
  if (!shown.user || *shown.user == kDefaultUser || *shown.user == of_token.name) return true;
  if (password_.required() && *shown.user == user_) return false;
  const User* const named = users.by_name(*shown.user);
  return named == nullptr || !named->hash;
}

// Null: there is no such user, or they have no password, or their time is over. A decoy is compared then,
// which takes as long.
const User* Logins::password_user(const Users& users, const Shown& shown) const {
  const User* const user = users.by_name(shown.user ? *shown.user : kDefaultUser);
  return user != nullptr && user->hash && !user->ended(wall_clock_()) ? user : nullptr;
}

void Logins::check(const Shown& shown, const std::function<void(Ruling)>& told) {
  const std::uint64_t version = users_->version();
  const auto users = users_->current();
  const User* const user = password_user(*users, shown);
  const steering::PasswordHash* const hash =
      user != nullptr && user->hash ? &*user->hash : users->decoy(shown.user ? *shown.user : kDefaultUser);
  if (hash == nullptr) return told(wrong(shown.address));
  const core::Sha256 what = keyed(user, shown);
  const auto compare = [this, users, hash, secret = shown.secret] { return matches_(*hash, secret); };
  const auto done = [this, users, user, what, version, told,
                     address = shown.address](PasswordChecks::Answer so) {
    if (so == PasswordChecks::Answer::late) return told(refuse(Outcome::crowded));
    if (so == PasswordChecks::Answer::wrong || user == nullptr) return told(wrong(address));
    remember(*user, what);
    told({.outcome = Outcome::in, .login = login_of(*user, user->password, version)});
  };
  if (!checks_->ask(what, guesses_of(shown.address), compare, done)) told(refuse(Outcome::crowded));
}

core::Sha256 Logins::keyed(const User* user, const Shown& shown) const {
  // None of the first two has a zero byte in it.
  const std::string bytes = (user != nullptr ? user->name
                             : shown.user    ? "?" + *shown.user
                                             : "?") +
                            '\0' + (user != nullptr ? user->password : "") + '\0' + shown.secret;
  core::Sha256 digest{};
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), nullptr);
  return digest;
}

bool Logins::remembers(const User& user, const core::Sha256& what) {
  const detail::Held lock(mutex_);
  const auto known = right_.find(user.name);
  return known != right_.end() && CRYPTO_memcmp(known->second.data(), what.data(), what.size()) == 0;
}

// At most one for each user: what an older file had is of no use.
void Logins::remember(const User& user, const core::Sha256& what) {
  const detail::Held lock(mutex_);
  if (const std::uint64_t now = users_->version(); version_ != now) {
    right_.clear();
    version_ = now;
  }
  right_.insert_or_assign(user.name, what);
}

}  // namespace weir::service
