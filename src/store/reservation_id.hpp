// The id of a reservation in this process: 128 bits that nobody can guess, as 22 characters.
//
// A value. Ids any thread may make: a counter under a keyed hash whose key nobody is told.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/siphash.hpp"

namespace weir::inline v0_1::store {

struct ReservationId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // Of A-Z, a-z, 0-9, - and _: base64url (RFC 4648, section 5) without padding.
  std::string text() const;
  // Nothing for what text() has not made.
  static std::optional<ReservationId> read(std::string_view text);

  friend auto operator<=>(const ReservationId&, const ReservationId&) = default;
  // It is one already.
  struct Hash {
    std::size_t operator()(const ReservationId& id) const { return id.high; }
  };
};

class ReservationIds {
 public:
  // Two keys from the kernel's generator, or else ids could be guessed.
  ReservationIds(core::HashKey high, core::HashKey low) : high_(high), low_(low) {}

  ReservationId next();

 private:
  core::HashKey high_;
  core::HashKey low_;
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace weir::store
