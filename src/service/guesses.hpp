// How many wrong passwords and tokens come from an address: a second each is what a connection pays, and many
// connections pay it side by side. Beyond the bound nothing more of that address is compared, for what is not
// compared tells nothing.
//
// Any thread; as many more may be compared at a time as there are threads. Not for: comparing
// (credentials.hpp).
#pragma once

#include <string>
#include <string_view>

#include "core/clock_function.hpp"
#include "store/store.hpp"
#include "store/table.hpp"

namespace weir::inline v0_1::service {

// What is taken for one client: an IPv4 address, or the /64 of IPv6 that one client has.
std::string guesses_of(std::string_view address);

class Guesses {
 public:
  static constexpr unsigned kASecond = 256;

  explicit Guesses(core::ClockFunction clock);

  bool may_come_from(std::string_view address);
  void came_from(std::string_view address);  // another, wrong

 private:
  Decision ask(std::string_view address, Cost cost);

  const core::ClockFunction clock_;
  const store::Limit limit_{.rule = {Quota::per_second(kASecond)}};
  store::Table wrong_{store::Table::kLeastBytes, WhenFull::deny};
};

}  // namespace weir::service
