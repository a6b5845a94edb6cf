// Who decided, and why nobody could: what every limiter tells beside its decision.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir::inline v0_1 {

// How long a shared store may take to answer, unless something else is said.
inline constexpr std::chrono::milliseconds kStoreDeadline{50};

// Who made a decision.
enum class Source : std::uint8_t {
  store,       // the store that counts: the table of this process, or the shared Redis
  remembered,  // a denial that the shared store gave less than a second ago
  leased,      // units that were taken from the shared store ahead of time
  fallback,    // what was chosen for the time while the shared store does not decide (OnStoreError)
};

// Why nobody could decide. It is an error of the request or of the deployment, never a denial.
enum class Fault : std::uint8_t {
  none,
  foreign_value,  // something other than a limit lies under the key in Redis
  unsuitable,     // the store cannot do this with the limit's algorithm or numbers
  store_down,     // a reset did not reach the shared store
};

// Who decides while a shared store does not.
enum class OnStoreError : std::uint8_t {
  local,  // the table of this process, alone
  allow,
  deny,
};

}  // namespace weir
