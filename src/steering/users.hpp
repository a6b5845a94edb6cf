// The users file: who may what, and what they show to be known.
//
//   users:
//     ann: { role: operate, password: "scrypt$...", token: "sha256:...", certificate: ann.example, until:
//     2027-01-01 }
//
// Constant once it has been read, any thread. Not for: comparing a password, which takes a while
// (service/logins.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sha256.hpp"
#include "limits/finding.hpp"
#include "steering/actor.hpp"
#include "steering/password_hash.hpp"

namespace weir::inline v0_1::steering {

struct User {
  std::string name;
  Role role = Role::none;
  // As the file has them; empty: they have none.
  std::string password{};
  std::string token{};
  std::string certificate{};           // the common name of one that --tls-ca has signed
  std::optional<PasswordHash> hash{};  // the password's
  std::optional<limits::Time> until{};

  bool ended(std::chrono::nanoseconds wall_now) const {
    return until && until->time_since_epoch() <= wall_now;
  }
};

class Users {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  struct Reading {
    std::string name{};        // of the file, in messages
    limits::Time now{};        // for `until`
    bool certificates = true;  // are asked for, so that they can name somebody
    std::string taken{};       // the name of --user, when it has a password of its own
  };
  // Null where `findings` have errors.
  static std::shared_ptr<const Users> read(std::string_view text, const Reading& reading,
                                           std::vector<limits::Finding>& findings);

  // Null: there is none.
  const User* by_name(std::string_view name) const;
  const User* by_token(const core::Sha256& digest) const;
  const User* by_certificate(std::string_view name) const;
  bool has_passwords() const { return !decoys_.empty(); }
  // What the password of a name that is nobody's is compared with: the hash of somebody. It is the same for
  // the same name, and names that are nobody's take each amount of work as often as users do, so that the
  // time that an answer takes tells nothing. Null: nobody has a password.
  const PasswordHash* decoy(std::string_view name) const;
  std::size_t size() const { return users_.size(); }

  static std::string token_text(const core::Sha256& digest);  // "sha256:..."

 private:
  class Reader;
  using ByText = std::map<std::string, std::size_t, std::less<>>;

  void find_decoys();
  const User* find(const ByText& in, std::string_view text) const;

  std::vector<User> users_;
  ByText by_name_;
  ByText by_token_;
  ByText by_certificate_;
  std::vector<const User*> decoys_;  // those with a password, by the work that it takes
  std::string secret_;               // of the file, so that nobody else knows which name takes which
};

}  // namespace weir::steering
