#include "service/guesses.hpp"

#include <string>
#include <utility>

#include "core/address.hpp"

namespace weir::inline v0_1::service {

std::string guesses_of(std::string_view address) {
  std::string key;
  core::append_address(address, {.v4 = 32, .v6 = 64}, key);
  return key;
}

Guesses::Guesses(core::ClockFunction clock) : clock_(std::move(clock)) {}

bool Guesses::may_come_from(std::string_view address) { return ask(address, Cost{0}).remaining > 0; }

void Guesses::came_from(std::string_view address) { static_cast<void>(ask(address, Cost{1})); }

Decision Guesses::ask(std::string_view address, Cost cost) {
  const std::chrono::nanoseconds now = clock_();
  return wrong_.check(wrong_.locate(guesses_of(address), limit_.rule, limit_.id), limit_, cost, now, now);
}

}  // namespace weir::service
