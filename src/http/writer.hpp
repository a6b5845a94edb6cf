// Answers as bytes: the status line and the fields of HTTP.
//
// Pure functions that append to a text; any thread. Whatever text they are given, what they write is well
// formed: nothing in a key or an attribute can end a field or a string. Not for: what is answered
// (answer.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::http {

// What is answered to one request. Used again for the next one, so that its texts keep their memory.
struct Reply {
  int status = 200;
  std::string_view type{};  // of the body; a constant; empty: there is no body
  std::string fields;       // others, each a line that ends with CRLF
  std::string body;
  bool closes = false;  // the connection ends after it

  void clear() {
    status = 200;
    type = {};
    fields.clear();
    body.clear();
    closes = false;
  }
};

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kProblemJson = "application/problem+json";

// "Too Many Requests"; of an unknown status "Status".
std::string_view reason_of(int status);

// How a reply is written for its request.
struct Framing {
  int minor = 1;  // HTTP/1.minor of the request
  bool keep_alive = true;
  bool head = false;  // the body is only announced
  std::string_view date{};
};
void append_reply(std::string& out, const Reply& reply, const Framing& framing);

// "name: value"; what cannot stand in a field becomes '?'.
void append_field(std::string& fields, std::string_view name, std::string_view value);

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string date_text(std::chrono::sys_seconds time);

}  // namespace weir::http
