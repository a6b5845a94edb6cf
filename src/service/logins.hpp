// Who somebody is, by what they show: the password and the token of the settings, users of a file with
// theirs, certificates. The same for every protocol.
//
// use() and stop() are called before the first thread asks and after the last one has; the rest by any
// thread. Not for: what a role may (resp/commands.cpp, http/handlers.cpp), nor the gate's and the RLS' own
// tokens.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/clock_function.hpp"
#include "core/notices.hpp"
#include "service/counters.hpp"
#include "service/credentials.hpp"
#include "service/guesses.hpp"
#include "service/password_checks.hpp"
#include "service/users_in_force.hpp"
#include "steering/actor.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

// Who a connection has shown to be. Plain texts: it can be handed to another process, which asks again().
struct Login {
  std::string user = "-";
  steering::Role role = steering::Role::none;
  // What says so: words of the users file, or the mark of what the settings have; empty: nothing that it has
  // shown.
  std::string by{};
  std::optional<std::chrono::nanoseconds> until{};  // on the wall clock
  std::uint64_t version = 0;                        // of the file, when this was looked at
};

class Logins {
 public:
  struct Settings {
    std::string user;
    std::string password{};    // empty: none is required
    std::string http_token{};  // empty: there is none
    core::ClockFunction clock{};
    core::ClockFunction wall_clock{};
    // PasswordHash::matches(), for tests to see what is compared.
    std::function<bool(const steering::PasswordHash&, const std::string&)> matches{};
  };
  Logins(const Settings& settings, Counters& counters, core::Notices& notices);

  // Goes by a users file too; it must outlive this.
  void use(const UsersInForce& users);
  // Nothing more is compared, and nobody is told any more.
  void stop() { checks_.reset(); }

  // Over HTTP, a client that has shown nothing may do nothing. Over RESP that is so with takes_passwords()
  // alone.
  bool required() const { return takes_passwords() || token_.required(); }
  bool takes_passwords() const { return password_.required() || users_ != nullptr; }
  bool takes_tokens() const { return token_.required() || users_ != nullptr; }
  bool by_file() const { return users_ != nullptr; }

  // Of one who shows nothing but, perhaps, a certificate: its common name. `has_bearer`: over HTTP, where the
  // token of the settings counts.
  Login at_first(std::string_view certificate, bool has_bearer) const;
  // Who they are here and now, by what they have shown: of a connection that another process had.
  Login again(const Login& login, std::string_view certificate) const;
  // The same where the users file may say something else, or nothing, by now. False: as before.
  bool look_again(Login& login, std::string_view certificate) const;

  struct Shown {
    std::optional<std::string> user{};  // none: what belongs to it says who it is
    std::string secret{};
    std::string address{};
    bool only_token = false;  // no password
    bool known = false;       // from a connection that has shown right ones
  };
  enum class Outcome : std::uint8_t {
    in,
    wrong,    // a guess: it has been counted, and its answer is to come late
    guessed,  // it was not compared, for too many wrong ones come from there; the connection ends
    crowded,  // nor this, for too many wait to be compared, or it has waited too long; the same
  };
  struct Ruling {
    Outcome outcome = Outcome::wrong;
    Login login{};
  };
  // Nothing: it takes a thread that check() has.
  std::optional<Ruling> judge(const Shown& shown);
  // `told` is called once, by any thread, at once or later.
  void check(const Shown& shown, const std::function<void(Ruling)>& told);

 private:
  Login by_settings() const;
  static Login login_of(const steering::User& user, const std::string& by, std::uint64_t version);
  bool may_show_a_token(const steering::Users& users, const steering::User& of_token,
                        const Shown& shown) const;
  const steering::User* password_user(const steering::Users& users, const Shown& shown) const;
  Ruling wrong(const std::string& address);
  Ruling refuse(Outcome why);
  core::Sha256 keyed(const steering::User* user, const Shown& shown) const;
  bool remembers(const steering::User& user, const core::Sha256& what);
  void remember(const steering::User& user, const core::Sha256& what);

  const std::string user_;
  const Credentials password_;
  const std::string mark_;   // of that user and password
  const Credentials token_;  // its user is empty
  const core::ClockFunction clock_;
  const core::ClockFunction wall_clock_;
  const decltype(Settings::matches) matches_;
  Guesses guesses_;
  Counters& counters_;
  core::Notices& notices_;
  const UsersInForce* users_ = nullptr;
  std::array<unsigned char, 32> key_{};
  // Of those who have shown it since the file was read, their password under the key.
  detail::Mutex mutex_;
  std::unordered_map<std::string, core::Sha256> right_ WEIR_GUARDED_BY(mutex_);
  std::uint64_t version_ WEIR_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<PasswordChecks> checks_;
};

}  // namespace weir::service
