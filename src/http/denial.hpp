// What every denial says first, whichever way it was asked for: the problem of RFC 9457 whose quota is
// exceeded, and the policies that deny.
//
// Pure, any thread. Not for: the rest of the answer (answer.hpp, gate.hpp), and other problems (problem.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json_writer.hpp"
#include "http/writer.hpp"
#include "limits/match.hpp"
#include "limits/set.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::http {

// Begins the object that is the reply's body, up to "violated-policies".
// Of a ban it is another problem.
void begin_denial(Reply& reply, core::JsonWriter& json, int status, bool bans);
constexpr core::JsonWriter::Name kViolated = "violated-policies";

enum class Disclosure : std::uint8_t {
  all,    // every limit that denies
  shown,  // those that clients are told of
};
// The windows that deny, by the names that RateLimit fields give them.
void write_violated(core::JsonWriter& json, const limits::Set& set, const limits::Matched& matched,
                    const store::Request& answered, Disclosure told);
// The same of limits that the request brings.
void write_violated(core::JsonWriter& json, const store::Request& answered);

// The name of the n-th limit that a request brings: limit, limit-2 ...
std::string_view own_name(std::size_t number);

}  // namespace weir::http
