// Kuadrant's messages of Reserve and Commit, but for the domain and the descriptors, which RateLimitRequest
// reads (request.hpp).
//
// Pure, any thread. Not for: what they come to (batch.cpp, held_limits.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::rls {

// The longest that one is held, and how long it is where nothing is said.
constexpr std::chrono::nanoseconds kLongestHold = std::chrono::seconds{60};

struct ReserveTerms {
  std::uint64_t amount = 0;
  std::chrono::nanoseconds ttl = kLongestHold;
};
struct CommitTerms {
  std::string_view id{};
  std::uint64_t actual = 0;
};

// Of a message that is well formed; what it does not say is as above.
ReserveTerms read_reserve(std::string_view message);
CommitTerms read_commit(std::string_view message);

void write_reserved(std::string& out, bool over, std::string_view id);
void write_committed(std::string& out, bool released);

}  // namespace weir::rls
