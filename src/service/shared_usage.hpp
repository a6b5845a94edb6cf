// Usage that many servers add up, in the store that they share.
//
// Any thread may call anything. Not for: how it is written there (server/usage_link.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "steering/usage.hpp"
#include "steering/usage_book.hpp"

namespace weir::inline v0_1::service {

class SharedUsage {
 public:
  using OnFound = std::function<void(tl::expected<steering::Usage, std::string>)>;

  SharedUsage() = default;
  SharedUsage(const SharedUsage&) = delete;
  SharedUsage& operator=(const SharedUsage&) = delete;
  virtual ~SharedUsage() = default;

  // They are added within a second. How many there was no room for.
  virtual std::size_t book(std::vector<steering::Booking> bookings) = 0;
  // Of a key, named as a booking has it; what is not added yet is added first. `found` is called once, by any
  // thread, later.
  virtual void find(steering::Booking key, OnFound found) = 0;
};

}  // namespace weir::service
