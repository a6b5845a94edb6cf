// Somebody who asks or changes something, and what they may.
//
// Plain values, any thread. Not for: how somebody shows who they are (users.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::steering {

// Each may do what those before it may.
enum class Role : std::uint8_t {
  none,     // has shown nothing
  decide,   // asks whether a request may pass
  operate,  // sees who is denied, and steers limits
  admin,    // all
};
std::string_view name_of(Role role);
// "decide", "operate", "admin"; nothing for other words.
std::optional<Role> read_role(std::string_view word);

struct Actor {
  std::string user = "-";  // "-": nobody known
  Role role = Role::admin;
  std::string address{};        // the host; of a Unix socket its path
  std::string_view protocol{};  // "resp", "http", "file"
};

// Their name in a sentence.
std::string_view called(const Actor& actor);

}  // namespace weir::steering
