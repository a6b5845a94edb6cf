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
  // What the password of nobody is compared with, which takes as long. Null: nobody has a password.
  const PasswordHash* decoy() const { return decoy_; }
  std::size_t size() const { return users_.size(); }

  static std::string token_text(const core::Sha256& digest);  // "sha256:..."

 private:
  class Reader;
  using ByText = std::map<std::string, std::size_t, std::less<>>;

  const User* find(const ByText& in, std::string_view text) const;

  std::vector<User> users_;
  ByText by_name_;
  ByText by_token_;
  ByText by_certificate_;
  const PasswordHash* decoy_ = nullptr;
};

}  // namespace weir::steering
