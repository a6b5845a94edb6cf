// Where a request came from, by a header in which each proxy appends the address that it was asked from, as
// in X-Forwarded-For. A client can write such a header too, so it is read from the right: the last element is
// what our own gateway saw, and an element is believed only while all to its right are proxies that we trust.
//
// One thread. Views of the header and of the trusted networks. Not for: asking who the peer is; a gateway's
// own address is never the client's.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/address.hpp"

namespace weir::inline v0_1::core {

class ClientAddress {
 public:
  enum class Outcome : std::uint8_t {
    missing,  // the header has no element
    found,    // the rightmost that is not trusted, or of only trusted ones the leftmost
    odd,      // an element that is not an address stands where the client's is looked for
  };

  explicit ClientAddress(std::span<const Network> trusted) : trusted_(trusted) {}

  // The fields of the header, the last one first: together they are one list (RFC 9110, 5.3). True when
  // those before it make no difference to the outcome.
  bool take(std::string_view field);
  // Of one before that: an element of it stands to the left of what was found.
  void pass(std::string_view field) { has_more_ = has_more_ || has_element(field); }

  Outcome outcome() const { return outcome_; }
  // Of what was found: without blanks, port and brackets.
  std::string_view text() const { return text_; }
  // What was found is an address that no client on the internet has, and another stands to its left: it may
  // be a proxy's that is not trusted.
  bool may_be_a_proxys() const { return is_private_ && has_more_; }

 private:
  bool take_element(std::string_view element);
  static bool has_element(std::string_view field) {
    return field.find_first_not_of(" \t,") != std::string_view::npos;
  }

  std::span<const Network> trusted_;
  Outcome outcome_ = Outcome::missing;
  std::string_view text_;
  bool is_private_ = false;
  bool has_more_ = false;
};

// An address without the port and the brackets that it may be written with: "192.0.2.1:80", "[::1]:80",
// "[::1]". Empty when it is not an address.
std::string_view without_port(std::string_view text);

}  // namespace weir::core
