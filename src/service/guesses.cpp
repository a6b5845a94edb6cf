#include "service/guesses.hpp"

#include <string>
#include <utility>

#include "core/address.hpp"

namespace weir::inline v0_1::service {
namespace {

std::string key_of(std::string_view address) {
  std::string key;
  core::append_address(address, {.v4 = 32, .v6 = 64}, key);
  return key;
}

}  // namespace

Guesses::Guesses(core::Clock clock)
    : clock_(std::move(clock)), wrong_(Quota::per_second(kASecond), {.memory = 1_MiB}) {}

bool Guesses::may_come_from(std::string_view address) {
  return wrong_.check_at(clock_(), key_of(address), Cost{0}).remaining > 0;
}

void Guesses::came_from(std::string_view address) {
  static_cast<void>(wrong_.check_at(clock_(), key_of(address)));
}

}  // namespace weir::service
