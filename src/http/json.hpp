// What a request's body asks, as JSON: simdjson reads it, and this turns it into questions, or says
// everything that is wrong with it.
//
// The thread of its loop; the questions' keys view what it has read, until the next body. Not for: answers.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "http/exchange.hpp"

namespace weir::inline v0_1::http {

// What reading takes, kept between bodies as long as they are small.
struct HttpLoop::Json {
  simdjson::dom::parser parser;
  std::string padded;
};

constexpr std::size_t kMostRequests = 1000;  // of a batch

// The body as JSON, which is `json`'s until the next; false: it cannot be read, and `faults` says why.
bool parse_body(std::string_view body, HttpLoop::Json& json, simdjson::dom::element& root, Faults& faults);

// Asks what the body says, or of a batch each of its parts; those with faults have their answer. Where
// nothing is asked, there are faults that concern all of it.
void read_questions(std::string_view body, Exchange& exchange, Faults& faults);

}  // namespace weir::http
