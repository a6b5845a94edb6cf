// Answers that say what is wrong, as application/problem+json (RFC 9457).
//
// Pure, any thread. Not for: denials, which say more (api.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/writer.hpp"

namespace weir::inline v0_1::http {

// What is wrong with a request's body, and where: a JSON pointer (RFC 6901), empty for all of it.
struct BodyFault {
  std::string pointer;
  std::string detail;
};
using Faults = std::vector<BodyFault>;

// Takes the place of whatever the reply's status, type and body were.
void write_problem(Reply& reply, int status, std::string_view detail, const Faults& faults = {});

// [{"pointer": "/cost", "detail": "..."}]
void append_faults(std::string& out, const Faults& faults);

// One more step of a JSON pointer.
std::string pointer_to(std::string_view parent, std::string_view member);

// What a connection is told that is closed without a request of it having been read: all of its bytes.
std::string last_words(int status, std::string_view detail);

}  // namespace weir::http
