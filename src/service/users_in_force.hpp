// The users file that a server goes by: read, and read again. An invalid one changes nothing.
//
// Any thread, as FilesInForce says. Not for: letting somebody in (logins.hpp).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "service/files_in_force.hpp"
#include "steering/users.hpp"

namespace weir::inline v0_1::service {

class UsersInForce final : public FilesInForce {
 public:
  using Made = steering::Users;
  struct Options {
    std::string path;
    bool certificates = true;  // clients show one
    std::string taken{};       // the name of --user, when it has a password of its own
    core::ClockFunction wall_clock;
    Log log = [](bool, const std::string&) {};
  };

  // Nothing is in force before the first reload.
  explicit UsersInForce(Options options)
      : FilesInForce("users", options.path, options.wall_clock, options.log), options_(std::move(options)) {}

  std::shared_ptr<const steering::Users> current() const {
    return std::static_pointer_cast<const steering::Users>(in_force());
  }

  void add_rows(Metrics& metrics) const;

 private:
  Compiled compile(const std::shared_ptr<const void>& before) const override;

  const Options options_;
};

}  // namespace weir::service
