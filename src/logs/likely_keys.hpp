// Which field of a log is the client: found by the values, since a name says little.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

// How likely the addresses of a field called so are those of clients, the least the likeliest: first those
// that anyone may have, then those of one's own networks (10.0.0.0/8 and the like: a proxy's, mostly), and
// last those whose name says that they are a server's.
int rank_of(std::string_view name, const std::vector<std::string>& addresses);
constexpr int kOneOfMany = 6;      // from here on: one address of one's own network, or a server's
constexpr int kNoAddresses = 100;  // of a field that mostly has none

// A field, its values that are there, and what may be suggested of it.
struct Candidate {
  std::string name;  // what --key takes
  int rank = 0;
  std::size_t different = 0;
};

// Of a field whose values are addresses, or lists of them with commas between: of a list the first from the
// end that is nobody's own, as each proxy appends what it saw.
Candidate candidate_of(const std::string& name, const std::vector<std::string>& values);

// Whether a time of that name is not the request's: when an account was made, or a session ends.
bool is_of_something_else(std::string_view name);

// Whether a name is that of what an account, an application or a person is.
bool names_somebody(std::string name);

}  // namespace weir::logs
