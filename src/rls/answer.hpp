// A RateLimitResponse of envoy.service.ratelimit.v3, written.
//
// The thread of its loop. Not for: who decides.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limits/descriptors.hpp"

namespace weir::inline v0_1::rls {

// The limit that a descriptor is told of.
struct CurrentLimit {
  std::uint32_t requests_per_unit = 0;
  limits::RateUnit unit = limits::RateUnit::unknown;
  std::string_view name{};
};
// What one descriptor is told.
struct Status {
  bool over = false;
  std::optional<CurrentLimit> limit{};
  std::uint32_t remaining = 0;
  std::optional<std::chrono::seconds> until_reset{};  // where there is a limit
};

// Of the descriptors that are told of a limit, the last that denies the message, as envoyproxy/ratelimit has
// it; else the first with the least left.
struct Tightest {
  bool any = false;
  std::uint32_t limit = 0;
  std::uint32_t remaining = 0;
  std::chrono::seconds until_reset{0};

  void take(const Status& status, bool denies) {
    if (!status.limit || (any && !denies && status.remaining >= remaining)) return;
    *this = {true, status.limit->requests_per_unit, status.remaining,
             status.until_reset.value_or(std::chrono::seconds{0})};
  }
};

class RateLimitAnswer {
 public:
  explicit RateLimitAnswer(std::string& out);
  // `unknown`: nobody could decide it.
  void add(const Status& status, bool unknown = false);
  // Of the client that asked Envoy, and all of them after the statuses.
  void header(std::string_view key, std::string_view value);
  void conclude(bool over);  // the overall code
  void raw_body(std::string_view text);
  void metadata(std::string_view fields);  // a google.protobuf.Struct

 private:
  std::string& out_;
  std::size_t code_at_;  // where the overall code is
};

}  // namespace weir::rls
