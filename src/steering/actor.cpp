#include "steering/actor.hpp"

#include <algorithm>
#include <array>

namespace weir::inline v0_1::steering {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"none", "decide", "operate", "admin"};

}  // namespace

std::string_view name_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

std::optional<Role> read_role(std::string_view word) {
  const auto found = std::find(kRoles.begin() + 1, kRoles.end(), word);
  if (found == kRoles.end()) return std::nullopt;
  return static_cast<Role>(found - kRoles.begin());
}

}  // namespace weir::steering
